"""Calls of what the CUDA runtime provides to a kernel: `printf`, `assert`, `malloc` and `free`.

A call of `vprintf` becomes ordinary instructions that add a record to a buffer in global memory: the thread, the
format's address and the bytes of the arguments. When the launch has ended, `messages` reads the formats and the records
and makes the text. A call of `__assertfail` leaves its arguments in a record of its own and traps; `assertion` turns
that trap into the fault with the assertion's message. The engines need to know nothing of either.
"""

from __future__ import annotations

from ptxlab.emulate.program.addresses import ASSERTED, BUFFER, GRANULE, HEADER, HEAP, PRINTED, HeapPiece, offset_in
from ptxlab.emulate.program.flat_program import Literal, Mem, Reg, Source, Special
from ptxlab.emulate.program.lowering import Guard, Lowering, lower_text
from ptxlab.emulate.program.scopes import Routine
from ptxlab.text.model import Instruction

_REFUSED = ("cudaLaunchDeviceV2", "cudaGetParameterBufferV2")


def lower_system_call(
    low: Lowering,
    target: str,
    arguments: list[tuple[Source, int]],
    result: Source | None,
    call: Instruction,
    guard: Guard,
    routine: Routine,
) -> bool:
    """Emits a call of a runtime function; False if it is unknown. `arguments`: each with its size in bytes."""
    if target in _REFUSED:
        what = f"the emulator cannot call {target}: kernels that launch kernels are not executed"
        raise low.unsupported(call, what, length=len(call.opcode))
    if target not in ("vprintf", "__assertfail", "malloc", "free"):
        return False
    with low.guarded(guard, call.line):
        start = len(low.codes)
        values = [_value(low, a, size, call.line) for a, size in arguments]
        if target == "vprintf":
            _print(low, values, result, call.line)
        elif target == "malloc":
            _allocate(low, values[0], result, call, routine)
        elif target == "free":
            _free(low, values[0], call, routine)
        else:
            _assert(low, values, call.line)
        low.codes[start].instruction = call  # the one of them that counts
    return True


def _value(low: Lowering, argument: Source, size: int, line: int) -> Source:
    """An argument as 64 bits, read from the frame if it lies there."""
    if isinstance(argument, Mem):
        held = low.register("%argument", f"b{8 * size}")
        low.op(f"ld.param.b{8 * size}", (held,), (argument,), line).space = "frame"
        argument = held
    if size != 4 or not isinstance(argument, Reg):
        return argument
    wide = low.register("%argument", "b64")
    low.op("cvt.u64.u32", (wide,), (argument,), line)
    return wide


def _print(low: Lowering, values: list[Source], result: Source | None, line: int) -> None:
    system = low.system
    words = system.words
    record = PRINTED.itemsize + 4 * words
    if not system.printf:
        system.printf = system.reserve("%printf", HEADER.itemsize + BUFFER)
        system.local_margin = 4 * words  # every record takes that much from where the arguments lie
    text, arguments = values
    number, place = low.register("%number", "b32"), low.register("%place", "b64")
    room, some = low.register("%room", "pred"), low.register("%some", "pred")
    low.op("atom.global.add.u32", (number,), (Mem(Literal(system.printf), 0), Literal(1)), line)
    low.op("setp.lt.u32", (room, None), (number, Literal(BUFFER // record)), line)
    with low.guarded((room.index, False), line):
        low.op("mad.wide.u32", (place,), (number, Literal(record), Literal(system.printf + HEADER.itemsize)), line)
        for field, special in (("block", "%ctaid"), ("thread", "%tid")):
            for k, axis in enumerate("xyz"):
                word = low.register("%word", "b32")
                low.op("mov.b32", (word,), (Special(f"{special}.{axis}"),), line)
                low.op("st.global.b32", (), (Mem(place, offset_in(PRINTED, field) + 4 * k), word), line)
        low.op("st.global.b64", (), (Mem(place, offset_in(PRINTED, "format")), text), line)
        if words:
            low.op("setp.ne.u64", (some, None), (arguments, Literal(0)), line)
            with low.guarded((some.index, False), line):
                base = _register(low, arguments, line)
                word = low.register("%word", "b32")
                for k in range(words):
                    low.op("ld.b32", (word,), (Mem(base, 4 * k),), line)
                    low.op("st.global.b32", (), (Mem(place, PRINTED.itemsize + 4 * k), word), line)
    if result is not None:
        _count(low, text, result, line)


def _count(low: Lowering, text: Source, result: Source, line: int) -> None:
    """The value of a call of `printf`: how many arguments its format asks for."""
    count, same = low.register("%count", "b32"), low.register("%same", "pred")
    low.op("mov.b32", (count,), (Literal(0),), line)
    for name, arguments in low.system.formats.items():
        if arguments:
            low.op("setp.eq.u64", (same, None), (text, Literal(low.module_scope.symbols[name].value)), line)
            low.op("selp.b32", (count,), (Literal(arguments), count, same), line)
    if isinstance(result, Mem):
        low.op("st.param.b32", (), (result, count), line).space = "frame"
    else:
        low.op("mov.b32", (result,), (count,), line)


def _assert(low: Lowering, values: list[Source], line: int) -> None:
    record = low.system.reserve(f"%assert {len(low.system.asserts)}", ASSERTED.itemsize)
    low.system.asserts.append((line, record))
    for name, value in zip(ASSERTED.names or (), values, strict=False):
        low.op("st.global.b64", (), (Mem(Literal(record), offset_in(ASSERTED, name)), value), line)
    low.op("trap", (), (), line)


def _allocate(low: Lowering, size: Source, result: Source | None, call: Instruction, routine: Routine) -> None:
    """`malloc`: the next bytes of the heap, at a multiple of 16. What is freed is not given out again.

    The heap begins with a word that says how much of it is taken; 16 bytes on is what is given out. A program that
    frees has a table besides, `given`: a `HeapPiece` for each 16 bytes of the heap. memcheck reads it. All accesses to
    it are atomic, since `malloc` and `free` race with nothing.
    """
    heap, place = low.system.heap, low.register("%allocated", "b64")
    text = f"""
.reg .b64 %size, %end; .reg .pred %fits;
add.u64 %size, %wanted, {GRANULE - 1};
and.b64 %size, %size, {-GRANULE};
min.u64 %size, %size, {HEAP + GRANULE};
atom.global.add.u64 %place, [{heap}], %size;
add.u64 %end, %place, %size;
setp.le.u64 %fits, %end, {HEAP};
setp.ne.and.u64 %fits, %size, 0, %fits;
add.u64 %place, %place, {heap + HEADER.itemsize};
selp.b64 %place, %place, 0, %fits;"""
    if low.system.given:
        text += f"""
.reg .b64 %entry; .reg .b32 %bytes, %before;
@!%fits bra none;
sub.u64 %entry, %place, {heap + HEADER.itemsize};
shr.u64 %entry, %entry, 1;
cvt.u32.u64 %bytes, %wanted;
atom.global.exch.b32 %before, [%entry+{low.system.given + HeapPiece.offset("bytes")}], %bytes;
none:"""
    lower_text(low, text, call, routine, {"%wanted": _register(low, size, call.line), "%place": place})
    if isinstance(result, Mem):
        low.op("st.param.b64", (), (result, place), call.line).space = "frame"
    elif result is not None:
        low.op("mov.b64", (result,), (place,), call.line)


def _free(low: Lowering, pointer: Source, call: Instruction, routine: Routine) -> None:
    """`free`: stops the kernel for a pointer that `malloc` has not given, or that was freed before.

    The load of what was freed before is a fault of memcheck, which knows the line.
    """
    heap = low.system.heap
    low.system.frees.append(call.line)
    text = f"""
.reg .b64 %at, %entry, %end; .reg .b32 %bytes, %line; .reg .pred %is;
setp.eq.u64 %is, %pointer, 0;
@%is bra done;
sub.u64 %at, %pointer, {heap + HEADER.itemsize};
setp.ge.u64 %is, %at, {HEAP};
@%is bra wrong;
and.b64 %entry, %at, {GRANULE - 1};
setp.ne.u64 %is, %entry, 0;
@%is bra wrong;
shr.u64 %entry, %at, 1;
add.u64 %entry, %entry, {low.system.given};
atom.global.or.b32 %bytes, [%entry+{HeapPiece.offset("bytes")}], 0;
setp.ne.u32 %is, %bytes, 0;
@%is bra given;
wrong:
trap;
given:
atom.global.cas.b32 %line, [%entry], 0, {call.line};
setp.eq.u32 %is, %line, 0;
@%is bra first;
ld.global.u8 %line, [%pointer];
first:
cvt.u64.u32 %end, %bytes;
add.u64 %end, %end, {GRANULE - 1};
shr.u64 %end, %end, 4;
shl.b64 %end, %end, 3;
add.u64 %end, %end, %entry;
next:
add.u64 %entry, %entry, {HeapPiece.size};
setp.ge.u64 %is, %entry, %end;
@%is bra done;
atom.global.exch.b32 %line, [%entry], {call.line};
bra next;
done:"""
    names: dict[str, Source] = {"%pointer": _register(low, pointer, call.line)}
    lower_text(low, text, call, routine, names, ["free: malloc has not given this pointer"])


def _register(low: Lowering, source: Source, line: int) -> Reg:
    if isinstance(source, Reg):
        return source
    held = low.register("%base", "b64")
    low.op("mov.b64", (held,), (source,), line)
    return held
