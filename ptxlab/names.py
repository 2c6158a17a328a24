"""Names as the source has them: what a reader sees in the place of a symbol of PTX.

Compilers of C++ mangle names: the array `tile` of the kernel `scale<64>` is `_ZZ5scaleILi64EEvPKfPfiE4tile` in PTX.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

LONGEST = 40
"""Characters of a template's arguments that are shown."""
_PARAMETER = re.compile(r"_Z\w+_(param_\d+)")
_AGAIN = re.compile(r"__?(\d+)_?")
"""What follows the name of the second, third ... variable of one name in a function."""
_OPERATOR = re.compile(r"operator(?:\(\)|\[\]|->\*?|<=>|<<=?|>>=?|[<>]=?|,|[^\w()<]+| [^()]+)?")
_UNNAMED = re.compile(r"\(anonymous namespace\)::|\b_INTERNAL_\w+::")
_WORD = re.compile(rf"\b{_OPERATOR.pattern}|::|.")


@functools.lru_cache(maxsize=4096)
def source_name(symbol: str, kernel: str = "") -> str:
    """What the source calls a symbol: `scale<64>` for a kernel, `geometry::table` for a variable, `tile` for what
    `kernel` (a symbol, too) declares, `load<float>::tile` for what another function does, `tile (2)` for the second of
    that name there, `param_2` for a third parameter. A symbol that is not mangled stays as it is.
    """
    if parameter := _PARAMETER.fullmatch(symbol):
        return parameter[1]
    if symbol.startswith("__local_depot"):  # in which NVIDIA's compilers put all that a function has in local memory
        return "local variables"
    parts = [
        f"{name}<...>" if len(rest) > LONGEST else part
        for part in _path(symbol)
        for name, _, rest in [part.partition("<")]
    ]
    path = "::".join(parts)
    return path.removeprefix(f"{source_name(kernel)}::") if kernel else path


def in_source_names(text: str) -> str:
    """A text of a tool in which symbols are, with the names of the source."""
    return re.sub(r"\b_Z\w+", lambda symbol: source_name(symbol[0]), text)


def find_symbol(symbols: Iterable[str], wanted: str) -> str:
    """The symbol that a name means: itself, or the only one that the source calls so, with or without namespaces and
    the arguments of a template; "" if there is none."""
    symbols, plain = tuple(symbols), wanted.replace(" ", "")
    if wanted in symbols:
        return wanted
    found = []
    for symbol in symbols:
        path = [part.replace(" ", "") for part in _path(symbol)]
        names = {
            name for last in (path[-1], path[-1].partition("<")[0]) for name in (last, "::".join([*path[:-1], last]))
        }
        found += [symbol] * (plain in names)
    return found[0] if len(found) == 1 else ""


@functools.lru_cache(maxsize=4096)
def _path(symbol: str) -> tuple[str, ...]:
    """The parts of a C++ name without the parameters of functions: ("outer", "load<float>", "tile")."""
    if not symbol.startswith("_Z"):
        return (symbol,)
    from pycxxfilt import itanium_demangle

    try:
        text = itanium_demangle(symbol) or symbol
    except ValueError:
        return (symbol,)
    parts: list[str] = []
    now, depth, ended = "", 0, False  # ended: the parameters have begun, and nothing of the name follows
    for word in _WORD.findall(_UNNAMED.sub("", text)):
        if depth == 0 and word == "::":
            parts, now, ended = [*parts, now], "", False
            continue
        if depth == 0 and word == " " and not ended:  # what came before is the type of the result
            parts, now = [], ""
            continue
        ended = ended or (depth == 0 and word == "(")
        depth += (word in "([{<") - (word in ")]}>")
        now += "" if ended else word
    again = _AGAIN.fullmatch(symbol.rpartition(f"{len(now)}{now}")[2])
    return (*parts, f"{now} ({int(again[1]) + 2})" if again else now)


# -- parameters of kernels in C++ --------------------------------------------------------------------------------------

_BLANK = re.compile(r"/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n\\]|\\.)*", re.S | re.M)
_NO_NAME = frozenset("auto bool char double float half int long short signed unsigned".split())
_NAMED = re.compile(r"\(\s*[*&]+\s*(?:const\s*)?([A-Za-z_]\w*)|[\s*&>]([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$")


def written_parameters(source: str, kernel: str, count: int) -> list[str]:
    """The parameters of a kernel (a symbol) as C++ source declares them: ["const float* x", "int n"]; [] where none of
    its declarations has so many, or several say different things."""
    bare, name = _BLANK.sub(" ", source), re.escape(_path(kernel)[-1].partition("<")[0])
    found: dict[tuple[bool, bool], list[list[str]]] = {}
    for match in re.finditer(rf"\b{name}\s*\(", bare):
        given, end = _until_closed(bare, match.end())
        kernel_begins = "__global__" in re.split(r"[;{}]", bare[: match.start()])[-1]
        behind = bare[end:].lstrip()[:1]
        declares = kernel_begins or (behind == "{" and all(map(parameter_name, given)))
        if len(given) == count and declares:
            found.setdefault((kernel_begins, behind == "{"), []).append(given)
    best = found[max(found)] if found else [[]]
    return best[0] if len({tuple(map(parameter_name, each)) for each in best}) == 1 else []


def parameter_name(written: str) -> str:
    """`x` of `const float *__restrict__ x[4] = nullptr`; "" of a parameter without a name."""
    found = _NAMED.search(written.partition("=")[0].strip())
    name = (found[1] or found[2]) if found else ""
    return "" if name in _NO_NAME else name


def _until_closed(text: str, at: int) -> tuple[list[str], int]:
    """What is between commas until the bracket that is open at a place closes, and the place behind it."""
    parts, depth, begin = [], 0, at
    for end in range(at, len(text)):
        depth += (text[end] in "([{<") - (text[end] in ")]}>")
        if depth < 0 or (depth == 0 and text[end] == ","):
            parts.append(text[begin:end].strip())
            begin = end + 1
        if depth < 0:
            return ([] if parts in ([""], ["void"]) else parts), begin
    return [], len(text)
