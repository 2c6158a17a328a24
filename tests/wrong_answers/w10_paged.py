"""Wrong answers to the exercises of notebook 10."""

from __future__ import annotations

from ptxlab.course.feedback import find
from wrong_answers import but

WRONG = {
    "10-offset": (
        (but("10-offset", ("pages[j // page_size] * page_size + j % page_size", "j")), "it is in page 7 of the pool"),
        (but("10-offset", (" * heads + head", "")), "you say 40, the machine"),
        (but("10-offset", (" * page_size + j % page_size", " + j % page_size")), "you say 64, the machine says 232"),
        (but("10-offset", ("slot * heads + head", "head * page_size + slot")), "the machine says"),
    ),
    "10-last": (
        (find("10-last").starter, "slots of its last page unused"),
        (but("10-last", ("k.loop(keys)", "k.loop(keys // P * P)")), "o[0, 0] should be"),
        (but("10-last", ("k.loop(keys)", "k.loop((keys + (P - 1)) // P * P)")), "0 * nan is not 0"),
        (but("10-last", ("acc *= rescale", "acc *= weight")), "unused slots hold 0"),
    ),
    "10-append": (
        (find("10-append").starter, "is not the place of a new key"),
        (but("10-append", ("n = k.bitcast(u32, lengths[b])", "n = k.bitcast(u32, lengths[b]) - 1")), "it was changed"),
        (but("10-append", ("table + b * width", "table")), "the new one belongs in slot"),
        (but("10-append", ("page * P + n % P", "page * P")), "should be"),
    ),
    "10-lookup": (
        (find("10-lookup").starter, "global loads; at most"),
        (but("10-lookup", ("k.min(keys - n * P, P)", "k.mov(P, u32)")), "o[0, 0]"),
        (but("10-lookup", ("(keys + (P - 1)) // P", "keys // P")), "should be"),
        (but("10-lookup", ("pages[n]", "pages[n * P]")), "past the end of"),
    ),
}
