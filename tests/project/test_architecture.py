"""What the whole tree keeps to: dependencies between packages, no circles of files, a light import, short files."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from package_sources import PACKAGE, nodes, tree

ROOT = PACKAGE.parent

EVERYTHING = {
    "isa", "text", "builder", "emulate", "frontends", "gpu", "kernels", "launch", "drivers", "testing",
    "targets", "forks", "garbage_collection", "reference", "attention", "performance", "sweeps", "lab", "course", "cli",
    "static", "figures", "errors", "findings", "names", "options", "foreign_arrays", "module_variables",
}  # fmt: skip
FOR_ALL = {
    "forks", "garbage_collection", "errors", "findings", "names", "targets", "options", "foreign_arrays", "version",
    "module_variables",
}  # fmt: skip
PACKAGES: dict[str, set[str]] = {
    "version": set(),
    "forks": set(),
    "garbage_collection": set(),
    "errors": set(),
    "findings": {"errors"},
    "names": set(),
    "options": {"errors"},
    "foreign_arrays": {"errors"},
    "targets": {"errors"},
    "isa": set(),
    "module_variables": {"isa"},
    "text": {"isa"},
    "builder": {"isa", "text"},
    "emulate": {"isa", "text"},
    "gpu": {"text", "kernels"},
    "frontends": {"text"},
    "kernels": {"builder", "text"},
    "launch": {"isa", "text", "emulate", "gpu"},
    "drivers": {"frontends", "launch"},
    "testing": {"isa", "text", "launch", "drivers"},
    "reference": set(),
    "figures": set(),
    "static": {"text", "emulate", "gpu", "kernels"},
    "performance": {"static", "emulate", "isa", "text", "reference"},
    "attention": {"emulate", "builder", "kernels", "launch", "reference", "gpu", "static", "performance"},
    "sweeps": {"kernels", "launch", "reference", "attention", "static", "gpu", "performance", "figures"},
    "lab": EVERYTHING - {"course"},
    "course": EVERYTHING,
    "cli": EVERYTHING,
}
"""What each package may import besides itself and those `FOR_ALL`."""

EMULATOR: dict[str, set[str]] = {
    "language": set(),
    "program": {"language"},
    "runtime": {"language", "program"},
    "rules": {"language", "program", "runtime"},
    "step": {"language", "program", "runtime", "rules"},
    "trace": {"program", "runtime", "rules", "step"},
    "jit": {"language", "program", "runtime", "rules", "step", "trace"},
}
"""What each package of `emulate` may import besides itself; its `__init__` may import all."""

JIT: dict[str, set[str]] = {
    "llvm": set(),
    "affine": {"llvm"},
    "native": set(),
    "translation": {"llvm"},
    "emitter": {"llvm", "affine", "translation"},
    "analysis": {"llvm", "affine", "emitter"},
    "memory": {"llvm", "affine", "translation", "emitter"},
    "atomics": {"llvm", "translation", "emitter"},
    "matrices": {"llvm", "translation"},
    "instruments": {"llvm", "translation", "emitter", "memory"},
    "checks": {"llvm", "translation", "emitter", "memory"},
    "bodies": {"llvm", "translation", "emitter", "memory", "matrices", "checks", "instruments"},
    "control": {"llvm", "translation", "emitter", "analysis", "memory", "atomics", "bodies"},
    "building": {"llvm", "affine", "native", "translation", "emitter", "analysis", "bodies", "instruments", "checks",
                 "control"},
    "running": {"affine", "native", "emitter", "instruments", "building"},
}  # fmt: skip
"""What each package of `emulate/jit` may import besides itself; its `__init__` may import all."""

HEAVY = {"llvmlite", "cuda", "matplotlib", "ipywidgets", "anywidget", "IPython", "jupyterlab", "triton", "numba",
         "tqdm", "jupytext", "nbformat"}  # fmt: skip
"""Imported inside the function that needs them, not with the module; `lab` and the JIT may."""


def files() -> list[Path]:
    """The package's Python files; the sources of notebooks are text that jupytext reads."""
    found = (path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)
    return sorted(path for path in found if path.parent != PACKAGE / "course" / "notebooks")


def package_of(path: Path) -> str:
    """The package of a file: the folder in ptxlab/, or the name of a module that lies there directly."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def with_the_module(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The imports that are loaded with a module: outside of functions, and not for type checkers alone."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from with_the_module(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in ("body", "handlers", "orelse", "finalbody", "cases"):
                yield from with_the_module(getattr(node, part, []))


@functools.cache
def imports(path: Path) -> list[tuple[int, str, bool]]:
    """(line, dotted name, whether it is loaded with the module) of every import in a file.

    `from ptxlab.gpu import device` counts as `ptxlab.gpu.device`.
    """
    found: list[tuple[int, str, bool]] = []
    loaded = set(with_the_module(tree(path).body))
    for node in nodes(path):
        if isinstance(node, ast.Import | ast.ImportFrom):
            base = ""
            if isinstance(node, ast.ImportFrom):
                assert not node.level, f"{path.relative_to(ROOT)}:{node.lineno}: a relative import"
                base = f"{node.module}."
            found.extend((node.lineno, base + alias.name, node in loaded) for alias in node.names)
    return found


@pytest.mark.rest
def test_no_dependency_that_the_table_does_not_have() -> None:
    wrong = []
    for path in files():
        here = package_of(path)
        if here in ("__init__", "__main__"):
            continue  # the public names, each loaded when it is first used
        allowed = PACKAGES[here] | FOR_ALL | {here}
        for line, name, _ in imports(path):
            parts = name.split(".")
            if parts[0] != "ptxlab":
                continue
            there = parts[1] if len(parts) > 1 else ""
            if there not in allowed:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {here} may not import {name}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("packages", [PACKAGES, EMULATOR, JIT], ids=["package", "emulator", "JIT"])
def test_the_dependencies_have_no_cycle(packages: dict[str, set[str]]) -> None:
    done: list[str] = []

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name not in done:
            for other in sorted(packages[name] - {"lab", "course", "cli", name}):
                visit(other, (*trail, name))
            done.append(name)

    for name in packages:
        visit(name, ())


def dependencies_between(folder: Path, package: str) -> dict[tuple[str, str], list[str]]:
    """(package, package that it imports) -> where, of the folders in a package; its `__init__` counts as one too.

    Imports in functions and for type checkers alone count as well."""
    found: dict[tuple[str, str], list[str]] = {}
    folders = {path.name for path in folder.iterdir() if path.is_dir()}
    for path in folder.glob("*/**/*.py"):
        here = path.relative_to(folder).parts[0]
        for line, name, _ in imports(path):
            if name.startswith(f"{package}."):
                first = name.removeprefix(f"{package}.").split(".")[0]
                there = first if first in folders else "__init__"
                if there != here:
                    where = f"{path.relative_to(ROOT)}:{line}: {here} may not import {name}"
                    found.setdefault((here, there), []).append(where)
    return found


MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files()}
"""The package's files by the names of their modules."""


@functools.cache
def files_imported(path: Path) -> set[Path]:
    """The package's files that a file imports, in functions and for type checkers as well."""
    found = set[Path]()
    for _, name, _ in imports(path):
        found.update([MODULES[known] for known in (name, name.rpartition(".")[0]) if known in MODULES][:1])
    return found


@pytest.mark.long
def test_no_files_import_each_other_in_a_circle() -> None:
    done = set[Path]()

    def visit(path: Path, trail: tuple[Path, ...]) -> None:
        circle = (*trail[trail.index(path) :], path) if path in trail else ()
        assert not circle, " -> ".join(str(each.relative_to(PACKAGE)) for each in circle)
        if path not in done:
            for other in sorted(files_imported(path) - {path}):
                visit(other, (*trail, path))
            done.add(path)

    for each in files():
        visit(each, ())


def packages_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_dir()} - {"__pycache__"}


@pytest.mark.long
@pytest.mark.parametrize(("place", "packages"), [("emulate", EMULATOR), ("emulate/jit", JIT)])
def test_packages_of_the_emulator_have_their_dependencies(place: str, packages: dict[str, set[str]]) -> None:
    folder = PACKAGE / place
    assert packages_in(folder) == set(packages)
    assert [path.name for path in folder.glob("*.py")] == ["__init__.py"]
    found = dependencies_between(folder, f"ptxlab.{place}".replace("/", "."))
    wrong = [where for (here, there), places in found.items() if there not in packages[here] for where in places]
    assert not wrong, "\n".join(wrong)
    unused = [(here, there) for here, others in packages.items() for there in others if (here, there) not in found]
    assert not unused, f"dependencies that nothing needs any more: {unused}"


@pytest.mark.long
def test_nothing_heavy_is_loaded_with_a_module() -> None:
    wrong = []
    for path in files():
        if package_of(path) == "lab" or path.is_relative_to(PACKAGE / "emulate" / "jit"):
            continue
        for line, name, top in imports(path):
            if top and name.split(".")[0] in HEAVY:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {name} at module level; import it where it is used")
    assert not wrong, "\n".join(wrong)


def python(code: str) -> str:
    """What a fresh Python prints for `code`."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_nothing_else() -> None:
    names = python(
        "import sys, ptxlab\nprint(*(name for name in sys.modules if name.partition('.')[0] in ('numpy', 'ptxlab')))"
    ).split()
    assert names == ["ptxlab"]


@pytest.mark.long
def test_functions_stay_where_packages_have_their_names() -> None:
    """Whichever is loaded first."""
    for first in ("pl.launch, pl.attention", "importlib.import_module('ptxlab.launch.run')"):
        shown = python(
            f"import importlib, ptxlab as pl\n{first}\n"
            "import ptxlab.launch.run, ptxlab.attention.prefill, ptxlab.launch\n"
            "print(callable(pl.launch), callable(pl.attention), pl.launch is ptxlab.launch)"
        )
        assert shown.split() == ["True"] * 3


@pytest.mark.parametrize(
    "module", ["isa", "text", "builder", "kernels", "reference", "emulate", "targets", "launch.run"]
)
def test_the_core_loads_without_llvmlite_and_cuda(module: str) -> None:
    python(
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('llvmlite', 'cuda', 'matplotlib', 'ipywidgets', 'anywidget')))\n"
        f"import ptxlab.{module}"
    )


@pytest.mark.long
def test_every_file_opens_with_what_it_is() -> None:
    wrong = []
    for path in files():
        text = path.read_text(encoding="utf-8")
        docstring = ast.get_docstring(tree(path))
        if not text.strip():
            wrong.append(f"{path.relative_to(ROOT)}: empty; give it a docstring")
        elif not docstring:
            wrong.append(f"{path.relative_to(ROOT)}: no module docstring")
        elif not re.search(r"[.!?:]$", docstring.split("\n\n")[0].strip()):
            wrong.append(f"{path.relative_to(ROOT)}: the docstring's first paragraph is not a sentence")
    assert not wrong, "\n".join(wrong)


LONGEST = 650


def test_files_are_short() -> None:
    """A file is one idea, 100 to 400 lines; the summary of a test run names the longer ones, this stops the worst."""
    lengths = {path.relative_to(ROOT): path.read_text(encoding="utf-8").count("\n") for path in files()}
    wrong = [f"{path}: {lines} lines, {LONGEST} at most" for path, lines in lengths.items() if lines > LONGEST]
    assert not wrong, "\n".join(wrong)


def committed() -> list[Path]:
    """The files under version control (and those about to be), or the source files where there is no git."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    except FileNotFoundError:
        done = None
    if done is None or done.returncode:
        kinds = ("*.py", "*.md", "*.toml", "*.txt", "*.ipynb", "*.js", "*.css")
        return [path for kind in kinds for path in ROOT.rglob(kind) if ".venv" not in path.parts]
    return [path for name in done.stdout.splitlines() if (path := ROOT / name).is_file()]


FORBIDDEN = {
    "a path of someone's machine": r"/(?:home|Users|root|work)/\w+",
    "the host of a package registry": r"(?:pypi|pythonhosted|npmjs|conda\.anaconda|deb\.debian)\.(?:org|com)",
    "a download address": r"https?://\S+\.(?:whl|tar\.gz|zip|deb|tgz)\b",
}
"""What no committed file may hold."""


@pytest.mark.long
def test_no_local_paths_and_no_registry_hosts() -> None:
    wrong = []
    for path in committed():
        if path.suffix in (".png", ".gif", ".cubin", ".npy", ".npz") or path == Path(__file__).resolve():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for what, pattern in FORBIDDEN.items():
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start()) + 1
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {what}: {match[0]}")
    assert not wrong, "\n".join(wrong)
