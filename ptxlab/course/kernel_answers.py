"""Answers that are kernels: what can be said of them before they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ptxlab.errors import PtxlabError


def is_kernel(answer: Any) -> bool:
    """Whether an answer is a kernel, or a function that builds one; nothing is built to find out."""
    return (
        any("ptx" in vars(t) for t in type(answer).__mro__)
        or "ptx" in getattr(answer, "__dict__", ())
        or (hasattr(type(answer), "kernels"))
    )


def parameter(kernel: Any, which: int) -> str:
    """The name of a kernel's parameter in its source, or its number where it cannot be told."""
    titles = [p.title for p in getattr(kernel, "params", ()) if getattr(p, "title", "")]
    if which < len(titles):
        return str(titles[which])
    functions = [f for f in parsed(kernel).module.kernels if f.body is not None]
    names = [v.name for f in functions for v in f.params]
    return names[which] if len(functions) == 1 and which < len(names) else f"argument {which + 1}"


def headers_lacking(text: str) -> str:
    """What is to be said of PTX text that does not say which PTX and which GPU it is written for; "" if it does."""
    try:
        module = parsed(text).module
    except PtxlabError:  # a launch tells what is wrong with it
        return ""
    lacking = [
        name for name, there in ((".version", module.version != (0, 0)), (".target", bool(module.target))) if not there
    ]
    if not lacking:
        return ""
    return (
        f"The text has no {' and no '.join(lacking)}, and NVIDIA's assembler refuses it. It must begin with:\n"
        ".version 7.8\n.target sm_80\n.address_size 64"
    )


@dataclass(frozen=True)
class KernelText:
    """PTX text or a module in the shape of a kernel."""

    module: Any


def parsed(kernel: Any) -> Any:
    """The kernel as an object with a module that knows its lines."""
    if isinstance(kernel, str):
        from ptxlab.text import parse

        return KernelText(parse(kernel))
    return kernel if hasattr(kernel, "module") else KernelText(kernel)
