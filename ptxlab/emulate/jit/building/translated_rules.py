"""Rules as LLVM text beside the sources: a first launch without checks and counters need not translate them.

`python -m ptxlab.emulate.jit.building.ahead_of_time` writes it; a test fails when that is due. LLVM has simplified
the text already (level 1, for no CPU in particular), so that it takes LLVM two thirds of the time. A text is used as
long as the files that it was made of have not changed: whoever changes a rule runs the changed one.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import llvmlite

from ptxlab.emulate.jit.building.rule_parts import Part
from ptxlab.emulate.program.digests import digest_of

FOLDER = Path(__file__).with_name("translated")
EMULATE = Path(__file__).parents[2]


def text_of(part: Part) -> str | None:
    """The text of a part; None where there is none, or it is made of other sources or for another LLVM."""
    try:
        head, files, stated, text = _path(part).read_text(encoding="utf-8").split("\n", 3)
        same = head == _head(part) and stated.split()[1] == _digest(files.split()[1:])
    except OSError:  # no such file, or one of its sources has gone
        return None
    return text if same else None


def _path(part: Part) -> Path:
    holds = [name.rpartition(".")[2] for name, value in part.known if value]
    return FOLDER / f"{'.'.join([part.symbols[0], *holds])}.ll"


def _head(part: Part) -> str:
    """Which rules they are, what is known of them, and which version of LLVM wrote them."""
    return f"; {json.dumps([part.symbols, part.known, llvmlite.__version__.rpartition('.')[0]])}"


def _digest(files: list[str]) -> str:
    """Of the contents of files in `emulate`."""
    return digest_of("".join(_digest_of(EMULATE / file) for file in files).encode()).hexdigest()


@functools.cache
def _digest_of(file: Path) -> str:
    """Of one file, as it is when this process first asks: what it runs, if it is changed later."""
    return digest_of(file.read_bytes().replace(b"\r\n", b"\n")).hexdigest()


def write(part: Part, translated: str) -> None:
    """Writes the file of a part whose rules are translated to this text."""
    files = _files(translated)
    stated = f"; {_digest(files)} {digest_of(translated.encode()).hexdigest()}"
    text = "\n".join([_head(part), f"; {' '.join(files)}", stated, _simplified(translated)])
    _path(part).write_text(text, encoding="utf-8", newline="\n")


def _files(translated: str) -> list[str]:
    """The files that say what this text is: those of its rules and records, of their language, of the translator."""
    from ptxlab.emulate.language.rules import rule_named

    rules = filter(None, map(rule_named, re.findall(r'^define .*?@"([\w.]+)"', translated, re.MULTILINE)))
    modules = {rule.function.__module__.removeprefix("ptxlab.emulate.") for rule in rules}
    found = {EMULATE / f"{module.replace('.', '/')}.py" for module in modules} | {EMULATE / "runtime" / "state.py"}
    found |= {*(EMULATE / "language").glob("*.py"), *(EMULATE / "jit" / "translation").glob("*.py")}
    return sorted(path.relative_to(EMULATE).as_posix() for path in found)


def _simplified(text: str) -> str:
    """A module after LLVM's passes of level 1."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    module = llvm.parse_assembly(text)
    machine = llvm.Target.from_default_triple().create_target_machine(cpu="generic")
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_unrolling = options.loop_vectorization = options.slp_vectorization = False
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return "\n".join(line for line in str(module).splitlines() if not line.startswith((";", "target "))) + "\n"
