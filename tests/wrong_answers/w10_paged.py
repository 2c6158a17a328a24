"""Wrong answers to the exercises of notebook 10."""

from __future__ import annotations

from ptxlab.course.feedback import find


def _but(name: str, *changes: tuple[str, str]) -> str:
    """The solution of an exercise with mistakes in it."""
    code = find(name).solution
    for old, new in changes:
        assert old in code, (name, old)
        code = code.replace(old, new)
    return code


WRONG = {
    "10-offset": (
        (_but("10-offset", ("pages[j // page_size] * page_size + j % page_size", "j")), "it is in page 7 of the pool"),
        (_but("10-offset", (" * heads + head", "")), "you say 40, the machine"),
        (_but("10-offset", (" * page_size + j % page_size", " + j % page_size")), "you say 64, the machine says 232"),
        (_but("10-offset", ("slot * heads + head", "head * page_size + slot")), "the machine says"),
    ),
    "10-last": (
        (find("10-last").starter, "slots of its last page unused"),
        (_but("10-last", ("k.loop(keys)", "k.loop(keys // P * P)")), "o[0, 0] should be"),
        (_but("10-last", ("k.loop(keys)", "k.loop((keys + (P - 1)) // P * P)")), "0 * nan is not 0"),
        (_but("10-last", ("acc *= rescale", "acc *= weight")), "unused slots hold 0"),
    ),
    "10-append": (
        (find("10-append").starter, "is not the place of a new key"),
        (_but("10-append", ("n = k.bitcast(u32, lengths[b])", "n = k.bitcast(u32, lengths[b]) - 1")), "it was changed"),
        (_but("10-append", ("table + b * width", "table")), "the new one belongs in slot"),
        (_but("10-append", ("page * P + n % P", "page * P")), "should be"),
    ),
    "10-lookup": (
        (find("10-lookup").starter, "global loads; at most"),
        (_but("10-lookup", ("k.min(keys - n * P, P)", "k.mov(P, u32)")), "o[0, 0]"),
        (_but("10-lookup", ("(keys + (P - 1)) // P", "keys // P")), "should be"),
        (_but("10-lookup", ("pages[n]", "pages[n * P]")), "past the end of"),
    ),
}
