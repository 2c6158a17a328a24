"""The assembler in process: its report, its errors at the PTX line, and text that would end the process."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from shown_messages import message

from ptxlab.errors import AssemblyError, LaunchError, PtxlabError, Span, TargetError, UnavailableError
from ptxlab.gpu import assemble, assembler, hazards, ptxas
from ptxlab.text import parse

pytestmark = pytest.mark.assembler

ADD_ONE = """\
.version 8.0
.target sm_80
.address_size 64

.visible .entry add_one(.param .u64 data)
{
    .reg .b64 %rd<2>;
    .reg .f32 %f<2>;
    .shared .align 4 .b8 tile[1024];

    ld.param.u64 %rd0, [data];
    ld.global.f32 %f0, [%rd0];
    add.f32 %f1, %f0, 0f3F800000;
    st.shared.f32 [tile], %f1;
    st.global.f32 [%rd0], %f1;
    ret;
}
"""


def fails(text: object, arch: str | None = None) -> AssemblyError:
    """The error of text that does not assemble."""
    with pytest.raises(AssemblyError) as caught:
        assemble(text, arch)
    return caught.value


def test_reports_what_a_kernel_uses() -> None:
    made = assemble(ADD_ONE)
    usage = made.kernel()
    assert made.arch == "sm_80"
    assert made.cubin.startswith(b"\x7fELF")
    assert (usage.name, usage.kernel, usage.shared_bytes, usage.stack_bytes) == ("add_one", True, 1024, 0)
    assert 0 < made.registers == usage.registers <= 16
    assert (made.spill_bytes, made.shared_bytes, made.stack_bytes, made.warnings) == (0, 1024, 0, ())
    assert str(made) == (
        f"add_one for sm_80: {made.registers} registers, no spills, 1024 bytes of static shared memory, "
        f"{len(made.cubin)} bytes of cubin in {made.seconds * 1e3:.1f} ms"
    )


def test_spills_stack_and_barriers() -> None:
    loads = "".join(f"    ld.volatile.global.f32 %f{i}, [%p+{4 * i}];\n" for i in range(400))
    stores = "".join(f"    st.global.f32 [%p+{4 * i}], %f{i};\n" for i in range(400))
    text = (
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry wide(.param .u64 p)\n{\n"
        "    .reg .f32 %f<400>;\n    .reg .b64 %p;\n    ld.param.u64 %p, [p];\n"
        f"{loads}    bar.sync 0;\n{stores}    ret;\n}}\n"
    )
    made = assemble(text)
    usage = made.kernel("wide")
    assert usage.registers == 255
    assert usage.spill_store_bytes > 0 < usage.spill_load_bytes
    assert made.spill_bytes == usage.spill_store_bytes + usage.spill_load_bytes
    assert usage.stack_bytes >= usage.spill_store_bytes
    assert usage.barriers == 1


def test_shared_memory_of_a_called_function_counts_on_every_target() -> None:
    for target in ("sm_80", "sm_90", "sm_100", "sm_120"):
        text = (
            f".version 8.7\n.target {target}\n.address_size 64\n.shared .align 4 .b8 tile[3000];\n"
            ".const .align 4 .b8 table[400];\n.global .align 4 .b8 total[8];\n"
            ".func helper()\n{\n    .reg .b32 %r;\n    mov.b32 %r, tile;\n    st.shared.b32 [%r], %r;\n    ret;\n}\n"
            ".visible .entry k()\n{\n    call helper;\n    ret;\n}\n.visible .entry other()\n{\n    ret;\n}\n"
        )
        made = assemble(text)
        assert [(usage.name, usage.kernel, usage.shared_bytes) for usage in made.functions] == [
            ("k", True, 3000),
            ("other", True, 0),
            ("helper", False, 0),
        ]
        assert (made.global_bytes, made.const_bytes) == (8, 400)


def test_names_the_kernels_there_are() -> None:
    with pytest.raises(KeyError) as caught:
        assemble(ADD_ONE).kernel("sub_one")
    assert caught.value.args == ("no kernel 'sub_one': the text has add_one",)


def test_every_error_is_kept_at_its_line() -> None:
    text = ADD_ONE.replace("add.f32", "addd.f32").replace("st.global.f32 [%rd0], %f1", "st.global.f32 [%rd0], %f9")
    error = fails(text)
    assert str(error) == (
        "<ptx>:13:5: Not a name of any known instruction: 'addd'\n"
        "        addd.f32 %f1, %f0, 0f3F800000;\n"
        "        ^~~~\n"
        "<ptx>:15:5: Arguments mismatch for instruction 'st'\n"
        "        st.global.f32 [%rd0], %f9;\n"
        "        ^~\n"
        "<ptx>:15:27: Unknown symbol '%f9'\n"
        "        st.global.f32 [%rd0], %f9;\n"
        "                              ^~~"
    )
    assert [e.line for e in error.errors] == [13, 15, 15]
    assert error.errors[0] is error
    assert "addd" in error.log


def test_reports_also_what_another_process_has_assembled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is a driver, nvJitLink keeps what it made in a cache, and says nothing of a text that it finds there:
    here it finds every text."""
    real = assembler._nvjitlink()

    class Caching:
        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def create(self, count: int, wanted: list[str]) -> object:
            self.cached = "-no-cache" not in wanted
            return real.create(count, wanted)

        def get_info_log_size(self, handle: object) -> int:
            return 0 if self.cached else int(real.get_info_log_size(handle))

    module = Caching()
    monkeypatch.setattr(assembler, "_nvjitlink", lambda: module)
    assert assemble(ADD_ONE.replace("add_one", "add_one_again")).registers > 0


@pytest.mark.parametrize(
    "case",
    [
        (ADD_ONE.replace("8.0", "42.0"), None, "1:1+8",
         "Unsupported .version 42.0; current version is '{newest}' (an update of the wheel nvidia-nvjitlink may know "
         "it)",
         ".version {newest}"),
        (ADD_ONE.replace("8.0", "6.0"), None, "2:1+7",
         "PTX .version 6.0 does not support .target sm_80", ".version 7.0"),
        (ADD_ONE.replace("sm_80", "sm_90"), "sm_80", "2:9+5",
         "SM version specified by .target is higher than default SM version assumed: .target is sm_90, and sm_80 is "
         'older; PTX runs on its target and on newer GPUs only (arch="sm_90" assembles it)',
         ".target sm_80"),
        (ADD_ONE.replace("sm_80", "sm_90a"), "sm_90", "2:9+6",
         "PTX with .target 'sm_90a' cannot be compiled for architecture 'sm_90': what sm_90a has beyond sm_90 exists "
         "on that GPU under its full name only",
         'assemble(ptx, arch="sm_90a")'),
        (ADD_ONE.replace("sm_80", "sm_90a"), "sm_100", "2:9+6",
         "Program with .target 'sm_90a' cannot be compiled to future architecture: what sm_90a has beyond sm_90 "
         "exists on that GPU under its full name only",
         'assemble(ptx, arch="sm_90a")'),
        (ADD_ONE.replace("tile[1024]", "tile[50000]"), None, "5:17+7",
         "Entry function 'add_one' uses too much shared data (0xc350 bytes, 0xc000 max): 50000 bytes of static shared "
         "memory, 49152 are allowed; dynamic shared memory may have more, with shared=50000 at the launch",
         ".extern .shared .align 16 .b8 tile[];"),
        (ADD_ONE.replace("\n.visible", "\n.extern .func missing();\n.visible")
         .replace("ret;", "call missing;\n    ret;"), None, "5:15+7",
         "Undefined reference to 'missing' in 'kernel.ptx': the text declares this function and has no body for it"),
        (ADD_ONE.replace("}", ""), None, "16:5+3",
         "Parsing error near '': syntax error (the text ends too early: a brace or a parenthesis is not closed)"),
        (ADD_ONE.replace("add.f32 %f1, %f0,", "fma.f32 %f1, %f0, %f0,"), None, "13:5+3",
         "Rounding modifier required for instruction 'fma'"),
    ],
)  # fmt: skip
def test_errors_say_what_to_write(case: tuple[str, ...]) -> None:
    text, arch, *parts = case
    whole = message(text, *parts, file="<ptx>")
    assert str(fails(text, arch)) == whole.replace("{newest}", read_newest())


def test_errors_of_the_whole_text() -> None:
    assert str(fails("")) == "the text has no .target line\n  write:  .target sm_80"
    assert str(fails(".target sm_80\n")) == "the text is not PTX: the assembler finds no .version at its start"


def read_newest() -> str:
    """The newest PTX version of this assembler, in its own words."""
    words = fails(ADD_ONE.replace("8.0", "99.0")).message
    return words.split("current version is '")[1].split("'")[0]


def test_the_builder_line_is_named() -> None:
    class Kernel:
        """What the builder gives: the text, and a module with a span for a line."""

        ptx = ADD_ONE.replace("add.f32", "addd.f32")

        module = parse(ptx, "add_one.ptx", {13: Span("kernel.py", 7, 4, 7, 20)})

    error = fails(Kernel())
    assert str(error) == (
        "add_one.ptx:13:5: Not a name of any known instruction: 'addd'\n"
        "        addd.f32 %f1, %f0, 0f3F800000;\n"
        "        ^~~~\n"
        "  from:   kernel.py:7"
    )
    assert error.span == Span("kernel.py", 7, 4, 7, 20)


def test_takes_a_module_and_nothing_else() -> None:
    assert assemble(parse(ADD_ONE)).cubin == assemble(ADD_ONE).cubin
    with pytest.raises(LaunchError, match="a builder's kernel, got int"):
        assemble(42)


def test_old_targets_run_on_the_oldest_known_gpu() -> None:
    old = ADD_ONE.replace("sm_80", "sm_52").replace("8.0", "6.5")
    assert assemble(old).arch == assembler.LOWEST == "sm_75"
    assert assemble("// .target sm_90\n/* .target sm_100 */\n" + ADD_ONE).arch == "sm_80"
    with pytest.raises(TargetError) as caught:
        assemble(old, "sm_52")
    assert str(caught.value) == (
        f'nvJitLink {".".join(map(str, assembler.version()))} does not assemble for arch="sm_52": it takes sm_75, '
        "sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a, sm_100, sm_120 and others from sm_75 on"
    )


@pytest.mark.parametrize("arch", ["sm_8", "sm_08", "sm_0", "sm_80x1", "80"])
def test_an_odd_name_of_a_gpu_does_not_end_the_process(arch: str) -> None:
    """nvJitLink calls exit() for `sm_8`; a notebook's kernel would be gone."""
    for text, given in ((ADD_ONE, arch), (ADD_ONE.replace("sm_80", arch), None)):
        with pytest.raises(PtxlabError) as caught:
            assemble(text, given)
        assert given is None or f'does not assemble for arch="{arch}": it takes sm_75' in str(caught.value)


def test_several_threads_get_what_one_gets() -> None:
    texts = [ADD_ONE.replace("3F800000", f"3F80{n:04X}") for n in range(8)]
    texts += [text.replace("add.f32", "addd.f32") for text in texts]
    outcomes: dict[int, object] = {}

    def outcome(text: str) -> object:
        try:
            return assemble(text).cubin
        except AssemblyError as error:
            return str(error)

    def work(start: int) -> None:
        for n in range(len(texts)):
            at = (n + start * 3) % len(texts)
            outcomes[start * 100 + at] = outcome(texts[at])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 4 * len(texts)
    assert all(found == outcomes[key % 100] for key, found in outcomes.items())
    assert {type(found) for found in outcomes.values()} == {bytes, str}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("bra " + "x" * 1_000_000 + ";", "<ptx>:5: a word of more than 4096 characters"),
        (
            ".reg .b32 %r<2000000000>;",
            "<ptx>:5:1: 2000000000 registers in one declaration; at most 10000000 are assembled\n"
            "    .reg .b32 %r<2000000000>;\n    ^~~~",
        ),
        ("// \0", "<ptx>:5:1: the text holds a NUL character\n    // \0\n    ^~"),
    ],
)
def test_text_that_would_end_the_process_is_refused(body: str, message: str) -> None:
    assert (
        str(fails(f".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {{\n{body}\nret; }}\n"))
        == message
    )


MODULE = ".version 9.0\n.target sm_90\n.address_size 64\n"
KERNEL = MODULE + ".visible .entry k() {{\n{}\nret; }}\n"


@pytest.mark.parametrize(
    ("text", "at", "says"),
    [
        (MODULE + ".entry rows(.param .u64 o, .param .u32 rows) { ret; }\n", "4:35+9",
         "the parameter rows has the name of its kernel"),
        (MODULE + ".global .b32 f[] = 1;\n", "4:14", "the initial values of the array f belong in braces"),
        (MODULE + ".const .b32 f[0][7] /* = {1} */ = k;\n", "4:13",
         "the initial values of the array f belong in braces"),
        (MODULE + ".entry k() .maxntid 4294967295 { ret; }\n", "4:12+8",
         ".maxntid 4294967295: a block has at most 1024 threads"),
        (MODULE + ".entry k() .reqntid 1, 1, 0xffffffe1 { ret; }\n", "4:12+8",
         ".reqntid 1, 1, 0xffffffe1: a block has at most 1024 threads"),
        (MODULE + ".func f() .abi_preserve 1024;\n", "4:11+13",
         ".abi_preserve 1024: a thread has at most 255 registers"),
        (MODULE + ".global .u16 f[1073741824] = {1};\n", "4:14",
         "f has 2,147,483,648 bytes and an initial value; at most 2,147,483,584 are assembled"),
        (KERNEL.format(".reg .b32 P; P: .callprototype _ ();"), "5:11",
         "the label P of .callprototype is the name of a variable already"),
        (KERNEL.format(".reg .b32 %P<3>;\n%P2: .calltargets k;"), "6:1+3",
         "the label %P2 of .calltargets is the name of a variable already"),
        (MODULE + ".entry k(.param .u64 p)\n{ p: .callprototype _ ();\nret; }\n", "5:3",
         "the label p of .callprototype is the name of a variable already"),
        (MODULE + ".visible .global .u8 k;\n.visible .func (.param .b32 r) k() { ret; }\n", "5:32",
         "k is the name of a variable already"),
        (MODULE.replace("sm_90", "sm_90, debug") + ".section .x { .b8 1 }\n", "4:10+2",
         "the assembler has no section .x for debugging, only .debug_abbrev .debug_aranges .debug_frame .debug_info "
         ".debug_line .debug_loc .debug_macinfo .debug_pubnames .debug_pubtypes .debug_ranges .debug_str "
         ".nv_debug_ptx_txt"),
        (MODULE.replace("sm_90", "sm_90, debug") + ".section .debug_abbrev {\n.b32 .debug_loc\n}\n", "5:6+10",
         "the section .debug_abbrev holds numbers only"),
        (MODULE.replace("sm_90", "sm_90, debug") + ".section .debug_abbrev {\n.b8 1,17,1,37,59,0,0,0\n}\n", "4:10+13",
         "the section .debug_abbrev is damaged: abbreviation 1 gives attribute 37 the form 59, which DWARF does not "
         "have"),
    ],
)  # fmt: skip
def test_declarations_that_would_end_the_process_are_refused(text: str, at: str, says: str) -> None:
    assert str(fails(text)) == message(text, at, says, file="<ptx>")


@pytest.mark.parametrize(
    "text",
    [
        MODULE + ".global .b32 f[] = {1};\n.global .b32 g[5] = {};\n// .global .b32 f[] = 1;\n",
        MODULE + ".entry k() .maxntid 1024, 1, 1 { ret; }\n.entry l() .maxntid 4294967264 { ret; }\n",
        MODULE + ".func f() .abi_preserve 100 { ret; }\n",
        KERNEL.format("{ .reg .b32 P; } P: .callprototype _ (); .reg .b32 %P<3>; %P3: .callprototype _ ();"),
        KERNEL.format(".reg .b32 P; { P: .callprototype _ (); }"),
        MODULE + ".section .x { .b8 1 }\n.visible .global .u8 f;\n.visible .entry k() { ret; }\n",
    ],
)
def test_their_harmless_neighbours_are_assembled(text: str) -> None:
    assert assemble(text).cubin.startswith(b"\x7fELF")


def test_arguments_of_another_kind_are_refused() -> None:
    for arch in (1.5, 90, b"sm_90", ["sm_90"], True):
        with pytest.raises(LaunchError) as caught:
            assemble(ADD_ONE, arch)  # type: ignore[arg-type]
        assert str(caught.value) == f"arch: expected a string such as 'sm_90', got {arch!r}"
    for switch in ([], None, 1, "yes"):
        with pytest.raises(LaunchError) as caught:
            assemble(ADD_ONE, lineinfo=switch)  # type: ignore[arg-type]
        assert str(caught.value) == f"lineinfo: expected True or False, got {switch!r}"


def counted(count: str) -> str:
    """A kernel that makes an mbarrier with this count."""
    return (
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n    .shared .align 8 .b64 m;\n"
        "    .reg .b32 %r<2>;\n    mov.u32 %r1, %tid.x; // mbarrier.init.shared.b64 [m], 0;\n"
        f"    mbarrier.init.shared.b64 [m], {count};\n    ret;\n}}\n"
    )


@pytest.mark.long
def test_what_ends_version_13_0_is_refused_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembler, "version", lambda: (13, 0))
    for zero in ("0", "0x0", "0U"):
        assert str(fails(counted(zero))) == (
            "<ptx>:9:35: Argument 1 of instruction 'mbarrier.init': value '0' out of range, expected to be in range "
            f"[1..1048575]\n        mbarrier.init.shared.b64 [m], {zero};\n{' ' * 38}^{'~' * (len(zero) - 1)}"
        )
    assert assemble(counted("7")).kernel().name == "k"
    assert assemble(counted("%r1")).kernel().name == "k"  # tried in a process of its own, which lives
    monkeypatch.setattr(hazards, "_TRIAL", "import os; os.kill(os.getpid(), 11)")
    assert str(fails(counted(" %r1"))) == (
        "<ptx>:9:36: nvJitLink 13.0 ends the process over this text: it finds that a count of mbarrier.init is 0, "
        "which has to be from 1 to 1048575; pip install 'nvidia-nvjitlink>=13.3' for one that does not\n"
        f"        mbarrier.init.shared.b64 [m],  %r1;\n{' ' * 39}^~~"
    )


def test_letters_beyond_ascii_in_comments_and_file_names() -> None:
    text = '.version 8.0\n.target sm_80\n.file 1 "gr\xfc\xdfe.cu"\n.visible .entry k()\n{ // \xd7 \u4e2d\n'
    text += "/* \xe9 */ ret;\n}\n"
    assert hazards.readable(text).decode() == (
        '.version 8.0\n.target sm_80\n.file 1 "gr??e.cu"\n.visible .entry k()\n{ // ? ?\n/* ? */ ret;\n}\n'
    )
    assert assemble(text).kernel().name == "k"
    assert "non-ASCII" in str(fails(text.replace("ret", "r\xe9t")))


@pytest.mark.parametrize(
    "text",
    [
        ".version 8.0\n.target sm_80\n" + "{" * 100_000,
        ".version 8.0\n.target sm_80\n.address_size 64\n/* ",
        '.version 8.0\n.target sm_80\n.file 1 "abc\n',
        ".version 8.0\n.target sm_80\n.visible .entry k() { %n%n%s%s }\n",
        ADD_ONE.replace("add.f32", "\xff\xfe"),
        ADD_ONE.encode("utf-16").decode("latin-1"),
    ],
)
def test_nonsense_is_an_error_and_nothing_worse(text: str) -> None:
    with pytest.raises(PtxlabError):
        assemble(text)


def test_without_the_wheels_one_line_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['cuda'] = None\n"
        "from ptxlab.gpu import assemble, available\nfrom ptxlab.gpu import assembler\n"
        "assert not available() and not assembler.available()\n"
        "from ptxlab.errors import UnavailableError\n"
        "try: assemble('.version 8.0\\n.target sm_80\\n')\nexcept UnavailableError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("NVIDIA's assembler is not installed (")
    assert done.stdout.endswith("): pip install cuda-bindings nvidia-nvjitlink\n")
    assert done.stdout.count("\n") == 1
    assert issubclass(UnavailableError, RuntimeError)


MOVES = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry moves()
.maxntid 128, 1, 1
{
    .reg .b32 %r<2>;
    setmaxnreg.dec.sync.aligned.u32 24;
    ret;
}
"""


@pytest.fixture
def which(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """`which(program)`: what the variable PTXAS says."""

    def choose(program: str) -> None:
        monkeypatch.setenv("PTXAS", program)
        ptxas.path.cache_clear()
        assembler._cache.clear()

    yield choose
    ptxas.path.cache_clear()
    assembler._cache.clear()


@pytest.mark.long
@pytest.mark.skipif(not ptxas.path(), reason="no ptxas: neither on the PATH nor named by the variable PTXAS")
def test_registers_are_moved_by_ptxas() -> None:
    made = assemble(MOVES)
    assert made.assembler.startswith("ptxas ")
    assert made.ignored == ""
    assert str(made).endswith(f" ms, by {made.assembler}")
    (kernel,) = made.kernels
    assert (kernel.name, kernel.kernel, kernel.spill_store_bytes) == ("moves", True, 0)
    assert (
        kernel.parameter_bytes
        == assemble(MOVES.replace("    setmaxnreg", "    // setmaxnreg")).kernel().parameter_bytes
    )


def test_without_it_the_report_says_what_was_ignored(which: Callable[[str], None], tmp_path: Path) -> None:
    old = tmp_path / "ptxas"
    old.write_text("#!/bin/sh\n[ $1 = --version ] && echo release 11.2 && exit\necho ptxas: unknown arch >&2\nexit 1\n")
    old.chmod(0o755)
    number = ".".join(map(str, assembler.version()))
    for program, reason in (
        ("", "there is no ptxas here"),
        (
            str(tmp_path / "none"),
            f"{tmp_path}/none does not run: [Errno 2] No such file or directory: '{tmp_path}/none'",
        ),
        (str(old), "ptxas 11.2 does not take the text: ptxas: unknown arch"),
    ):
        which(program)
        made = assemble(MOVES)
        assert made.ignored == f"setmaxnreg ({reason})"
        assert str(made).endswith(f" ms, by nvJitLink {number}, which ignores setmaxnreg ({reason})")
