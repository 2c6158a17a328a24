"""Wrong answers to the exercises of notebook 00."""

from __future__ import annotations

from wrong_answers import but

_ADD = "\n    add.f32         %v, %v, 1.0;"

WRONG = {
    "00-square":
        ((but("00-square", ("mul.f32 ", "add.f32 ")), "doubled before 1 was added"),
         (but("00-square", (_ADD, "")), "1 is still to be added."),
         (but("00-square", ("    mul.f32         %v, %v, %v;\n", "")), "1 was added, and nothing was squared."),
         (but("00-square", ("%v, 1.0", "%v, 2.0")), "Its square is 9; now it is 11."),
         (but("00-square", ("mul.f32 ", "add.f32 "), ("%v, 1.0", "%v, %v")), "now it is 12."),
         (but("00-square", ("%i, 4, %x", "%i, 2, %x")), "misaligned")),
    "00-guard":
        ((but("00-guard", ("    @%outside ret;\n", "")), "memcheck: store of 4 bytes"),
         (but("00-guard", ("@%outside", "@!%outside")), "thread (18, 0, 0)"),
         (but("00-guard", ("%outside, %i, %n", "%outside, %i, 0")), "A thread with i < n must store its number."),
         (but("00-guard", ("setp.ge.u32     %outside, %i", "setp.ge.u32     %outside, %thread")), "memcheck")),
    "00-relu":
        ((but("00-relu", ("k.max(k.fma(a, x[i], y[i]), 0.0)", "k.fma(a, x[i], y[i])")), "What becomes of it where it is negative?"),
         (but("00-relu", ("    k.return_if(i >= n)\n", "")), "memcheck: load of 4 bytes"),
         (but("00-relu", ("k.return_if(i >= n)", "if i >= n: return")), "with k.if_("),
         (but("00-relu", ("k.max", "k.min")), "the smaller of the two")),
}  # fmt: skip
