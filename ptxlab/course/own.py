"""Exercises and notebooks of one's own, in a folder that the environment variable `PTXLAB_COURSE` names.

The folder has the form of `ptxlab/course`: `exercises/eNN_name.py` with `EXERCISES`, and `notebooks/NN-name.py`. A
module may have `WRONG`: exercise -> pairs of a wrong answer's code and a phrase of the feedback that it must get.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from ptxlab.errors import PtxlabError

VARIABLE = "PTXLAB_COURSE"


def files(pattern: str) -> list[Path]:
    """The files of the folder that fit a pattern, in order; none where no folder is named."""
    named = os.environ.get(VARIABLE)
    if not named:
        return []
    if not (Path(named) / "exercises").is_dir():
        raise PtxlabError(f"{VARIABLE} is {named!r}: there is no folder {Path(named) / 'exercises'}")
    return sorted(Path(named).resolve().glob(pattern))


@cache
def modules() -> tuple[ModuleType, ...]:
    """The modules of exercises, imported."""
    return tuple(map(_imported, files("exercises/e[0-9][0-9]_*.py")))


def for_students() -> dict[str, str]:
    """The files of exercises without comments and solutions: name -> text. One that keeps a solution is an error."""
    out = {}
    for module in modules():
        path = Path(str(module.__file__))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "solution":
                node.value = ast.Constant("")
        out[path.name] = ast.unparse(tree) + "\n"
        told = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        left = "\n".join(text for text in told if isinstance(text, str))
        for exercise in module.EXERCISES:
            if exercise.solution.strip() in left:
                raise PtxlabError(f"{path}: write the solution of {exercise.name} as solution=..., to be left out")
    return out


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{VARIABLE.lower()}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if not hasattr(module, "EXERCISES"):
        raise PtxlabError(f"{path}: there is no EXERCISES, a tuple of ptxlab.course.Exercise")
    return module
