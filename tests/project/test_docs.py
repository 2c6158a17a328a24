"""The documentation: its examples run, every opcode and kernel has a page, and Sphinx builds it without a warning."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import ptxlab as pl
import ptxlab.builder
from ptxlab.cli import main as cli
from ptxlab.course import command as course
from ptxlab.isa.table import TABLE

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.glob("*.md") if ">>>" in path.read_text(encoding="utf-8"))


def _commands() -> dict[str, str]:
    """What stands behind `ptxlab` on each command line of the documentation, and the output that the page shows."""
    found: dict[str, str] = {}
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
            for line, shown in re.findall(r"^\$ ptxlab (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
                found[line] = shown
        for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
            found |= dict.fromkeys((line.strip() for line in re.findall(r"^ptxlab ([^#\n]*)", block, re.MULTILINE)), "")
    return found


COMMANDS = _commands()
NOT_RUN = {
    "lab": (cli, "_lab", "it opens a browser"),
    "doctor": (cli, "_doctor", "it says what this machine has"),
    "course grade": (course, "_grade", "tests/course/test_course_grade.py runs it, in ten seconds and more"),
    "course test": (course, "_test", "tests/course/test_course_own.py runs it"),
    "course slides": (course, "_slides", "tests/course/test_course_slides.py runs it"),
}
"""Commands that are only read here, up to the function that would execute them, and why."""
COPY = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p;  .reg .u32 %i, %b, %t, %n;  .reg .u64 %x, %y, %o;  .reg .f32 %v;
    ld.param.u32 %n, [n];
    mov.u32 %b, %ctaid.x;
    mov.u32 %t, %tid.x;
    mad.lo.u32 %i, %b, 128, %t;
    setp.ge.u32 %p, %i, %n;
    @%p ret;
    ld.param.u64 %x, [x];
    ld.param.u64 %y, [y];
    mul.wide.u32 %o, %i, 4;
    add.u64 %x, %x, %o;
    add.u64 %y, %y, %o;
    ld.global.f32 %v, [%x];
    st.global.f32 [%y], %v;
    ret;
}
"""
"""The kernel of a reader who tries what a page says of `mykernel.ptx`."""


def _module(name: str) -> ModuleType:
    if str(DOCS) not in sys.path:  # they import each other
        sys.path.append(str(DOCS))
    return importlib.import_module(name)


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    return _module("generate")


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    return _module("reference")


@pytest.fixture(scope="module")
def course_pages() -> ModuleType:
    return _module("course_pages")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_what_a_page_shows_is_what_happens(page: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


ROWS = re.findall(r"^\| (`.*`) \| (`.*`) \|$", (DOCS / "ptx-to-python.md").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("other", "python"), ROWS)
def test_a_line_of_python_is_the_line_of_ptx_beside_it(other: str, python: str) -> None:
    names: dict[str, Any] = dict(vars(ptxlab.builder))
    body = [line.replace("\\|", "|") for line in re.findall(r"`(.*?)`", python)]
    body = [line + " p[i] = x" if line.endswith(":") else line for line in body]
    given = "p: Ptr[f32], r: Ptr[u32], n: u32, m: u32, mask: u32, a: u32, w: u64, x: f32, y: f32"
    head = f"def f(k, {given}):\n    acc, c = k.var(f32, 0.0), n < m\n    "
    exec(compile(head + "\n    ".join(body), "page.py", "exec"), names)
    built = ptxlab.builder.kernel(names["f"])(arch="sm_80").ptx
    if other.endswith(";`") and not re.search(r"\(|__", other):
        opcode = next(word for word in other.strip("`").split() if not word.startswith("@"))
        assert re.search(rf"(^|\s){re.escape(opcode)}[\s;]", built, re.MULTILINE), built


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_line_works(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mykernel.ptx").write_text(COPY, encoding="utf-8")
    for place, name, _ in NOT_RUN.values():
        monkeypatch.setattr(place, name, lambda options: 0)
    assert cli.main(shlex.split(command)) == 0
    if not command.startswith(tuple(NOT_RUN)):
        assert capsys.readouterr().out.endswith(COMMANDS[command])


@pytest.mark.long
def test_every_opcode_has_a_page(generate: ModuleType) -> None:
    index = generate.isa_index()
    for opcode, entries in TABLE.items():
        assert f"\n{opcode}\n" in index
        page = generate.isa_page(opcode, entries)
        assert all(entry.syntax in page for entry in entries)
    # the semantics as they are executed, down to what they call
    popc, fma = (generate.isa_page(name, TABLE[name]) for name in ("popc", "fma"))
    assert "m.popc(" in popc
    assert "def fma_of_halves(" in fma


def test_a_page_of_a_kernel(generate: ModuleType) -> None:
    page = generate.kernel_page("tiled")
    assert pl.kernels.get("tiled").source in page
    assert "| `smsp__inst_executed.sum` |" in page


def test_the_reference_has_every_public_name(reference: ModuleType) -> None:
    listed = {name for names in reference.PYTHON.values() for name in names.split()}
    assert listed | {"kernels"} == set(pl.__all__)
    methods = {name for names in reference.BUILDER.values() for name in names.split()}
    assert methods <= set(dir(ptxlab.builder.Builder))
    for path in reference.RESULTS:
        module, _, name = path.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), name), type)


def test_a_page_of_options(reference: ModuleType) -> None:
    commands, magics = "\n".join(reference.command_line()), "\n".join(reference.magic())
    assert "## ptxlab check\n" in commands
    assert "## ptxlab course grade\n" in commands
    assert "| `--seeds N` | run in N orders, and compare the results |" in commands
    assert "```text\n%%ptx --grid 4 --block 128 --args x,y,2.0,512\n```" in magics


EXPLORER_PAGE = 600_000
"""Bytes of a page that holds the explorer on one kernel, at most."""


class Page(HTMLParser):
    """The places that a page can be linked at, and the links that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.names |= {value for key in ("id", "name") if (value := found.get(key))}
        self.links |= {value for key in ("href", "src") if (value := found.get(key))}


def broken_links(site: Path) -> list[str]:
    """Links of a site to pages, pictures or places of its own that are not there."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    broken = []
    for path, page in pages.items():
        for link in sorted(page.links):
            address = urlsplit(link)
            if address.scheme or address.netloc or not (address.path or address.fragment):
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            there = target in pages or target.exists()
            places = {address.fragment, unquote(address.fragment)}  # a browser looks for the one, then the other
            if not there or (address.fragment and target in pages and not places & pages[target].names):
                broken.append(f"{path.relative_to(site.resolve())}: {link}")
    return broken


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#here">b</a> <a href="#x" id="x">x</a>', encoding="utf-8")
    (tmp_path / "b.html").write_text('<p id="there"> <a href="a.html#x">a</a> <img src="c.png">', encoding="utf-8")
    assert broken_links(tmp_path) == ["a.html: b.html#here", "b.html: c.png"]


@pytest.mark.long
def test_a_notebook_is_a_page(course_pages: ModuleType, tmp_path: Path) -> None:
    made = course_pages.build.committed(course_pages.ROOT / "notebooks" / "01-scalar.ipynb")
    page = course_pages.notebook_page(made, tmp_path, "01-scalar")
    assert page.startswith("# 01 · Online softmax")
    assert page.count("\n# ") == 0, "one title"
    assert "](02-barriers.md)" in page
    assert ".ipynb" not in page
    pictures = re.findall(r"\{image\} (\S+)", page)
    assert pictures
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in pictures)


def test_the_results_of_all_benchmarks_that_are_named_stand_on_a_page(course_pages: ModuleType) -> None:
    text = course_pages.results_page()
    assert text.count("\n## ") >= len(course_pages.RESULTS)
    assert "## A class of synthetic submissions" in text


@pytest.mark.long
def test_an_exhibit_and_the_front_trace(course_pages: ModuleType) -> None:
    page = course_pages.exhibit_page(pl.gallery(3))
    assert page.startswith(f"# {pl.gallery(3).heading}")
    assert "shfl.sync.bfly" in course_pages.front_trace()


@pytest.mark.rest
@pytest.mark.browser
def test_a_page_of_the_explorer_plays_without_a_network(
    course_pages: ModuleType, tmp_path: Path, chromium: Any
) -> None:
    file = tmp_path / "page.html"
    file.write_text(course_pages.explorer_page("scalar"), encoding="utf-8")
    assert file.stat().st_size < EXPLORER_PAGE
    page = chromium.new_page(viewport={"width": 1300, "height": 900})
    errors: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.click(".pl-play")
    page.wait_for_function(
        "() => document.querySelector('.pl-plot').parentElement.parentElement"
        ".querySelector('.pl-readout').innerText.startsWith('key 1: ')"
    )
    assert page.locator("section[aria-label=PTX] .pl-now .pl-line[aria-selected=true]").count() > 0
    page.click("button:has-text('Diff')")
    assert page.locator(".pl-diff tr.pl-del, .pl-diff tr.pl-add, .pl-diff tr.pl-chg").count() > 0
    assert page.inner_text(".pl-diff-note").startswith("causal on → off")
    page.close()
    assert errors == []
    assert [url for url in asked if not url.startswith(("file:", "blob:", "data:"))] == []


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("sphinx") is None, reason="needs Sphinx: ptxlab[docs]")
def test_the_site(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(DOCS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-3000:]
    made = "reference/builder reference/magics isa/fma kernels/decode_paged notebooks/05-mma gallery/07 results".split()
    for name in ("index", "first", "start", "howto-engineer", *(f"generated/{page}" for page in made)):
        assert (tmp_path / f"{name}.html").is_file(), name
    assert broken_links(tmp_path) == []
    sizes = {name: (tmp_path / "explorer" / f"{name}.html").stat().st_size for name in pl.kernels.names()}
    assert {name: size for name, size in sizes.items() if size > EXPLORER_PAGE} == {}
    for name, term in (("machine", "divergence"), ("generated/isa/bra", "diverged")):  # linked where it is used first
        assert (tmp_path / f"{name}.html").read_text(encoding="utf-8").count(f"glossary.html#term-{term}") == 1, name
