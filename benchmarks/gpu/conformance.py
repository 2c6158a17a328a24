"""Every form of the instruction table on the GPU and on the emulator: `python -m benchmarks.gpu.conformance`.

Programs of many forms each are assembled, run on both, and compared bit for bit; a NaN counts as any other, since PTX
leaves their payloads open. Forms that are not exact by specification have a bound (see `form_rules`). Beside them run
the programs with known results of tests/support/engine_cases.py: branches, calls, memory of every space, atomics.

Each program runs in one of several child processes, which assemble and run the emulator's half side by side. Forms
that the assembler or the emulator refuses are found by halving the program, and so are those that the GPU stops or
that hang.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from typing import Any

import numpy as np

import ptxlab as pl
from benchmarks.gpu import corpus, form_programs
from benchmarks.gpu.form_rules import difference
from benchmarks.gpu.record import Record, record_for
from benchmarks.gpu.workers import Died, Workers, serve
from ptxlab.isa import examples as isa_examples
from ptxlab.isa import form, types
from ptxlab.isa.coverage import key
from ptxlab.isa.table import all_ops

SIZES = {
    "registers": 40,
    "clusters": 12,
    "copies": 12,
    "tensors": 6,
    "loads": 40,
    "stores": 40,
    "atomics": 30,
    "warpgroups": 6,
    "matrices": 16,
    "barriers": 16,
    "hints": 16,
}
"""Forms a program. Matrix products are long, and what waits may wait endlessly."""
KEPT = 24
"""Lanes of a form that differ, of which a row tells."""
LIMIT = 25.0
"""Seconds for one program: with what a child needs to start, several times what the longest takes."""
_ORDER = "the order in which lanes execute an atomic instruction is open"
_RECONVERGENCE = "where lanes reconverge is open, and activemask shows it"
OPEN_PROGRAMS = {
    "atomics come in lane order": _ORDER,
    "atomic operations": _ORDER,
    "a lock within a warp": "the order in which lanes take a lock is open",
    "two lanes store to one address: the higher one is seen": "which of two lanes' stores is seen is open",
    "nested if": _RECONVERGENCE,
    "lanes reconverge after loops with different trip counts": _RECONVERGENCE,
    "early exit": _RECONVERGENCE,
    "a guarded shuffle": f"{_RECONVERGENCE}; so is what a lane reads from one that takes no part",
}
"""Programs whose results rest on an order that PTX leaves open."""
OPEN_WORDS = {"a guarded shuffle that waits": {21: "what a lane reads from one that takes no part is open"}}
"""Single words of other programs: of that one lane 5 is not in the mask, from which lane 21 reads."""


# -- in a child --------------------------------------------------------------------------------------------------------


class Refused(Exception):
    """A program that is not assembled, or not executed by the emulator: who refuses it, and its words."""


def run(program: form_programs.Program, device: str) -> np.ndarray[Any, Any]:
    """What a program leaves in `out`."""
    out = program.out.copy()
    options: dict[str, Any] = {} if device == "gpu" else {"budget": 2_000_000}
    if program.blocks > 1:
        options["cluster"] = program.blocks
    given: list[Any] = [pl.const(program.data), out]
    for tensor, about in program.maps:
        array = tensor.copy()
        given += [pl.TensorMap(array, **about), array]
    pl.launch(program.text, program.blocks, program.threads, *given, shared=program.shared, device=device, **options)
    return out


def ran(opcodes: list[str], device: str, arch: str) -> tuple[list[Any], dict[str, str]]:
    """[(program, out of the emulator, out of the device)] of those forms that both take; the others with words."""
    try:
        program = form_programs.build(opcodes)
        try:
            pl.assemble(program.text, f"{arch}a" if program.specific else arch)
        except pl.AssemblyError as error:
            raise Refused(f"the assembler: {error.message}") from error
        try:
            own = run(program, "cpu")
        except (pl.PtxError, pl.DeviceFault) as error:
            raise Refused(f"the emulator: {error}") from error
    except Refused as error:
        if len(opcodes) == 1:
            return [], {opcodes[0]: str(error)[:400]}
        half = len(opcodes) // 2
        first, second = ran(opcodes[:half], device, arch), ran(opcodes[half:], device, arch)
        return first[0] + second[0], first[1] | second[1]
    return [(program, own, run(program, device))], {}


def compared(program: form_programs.Program, own: Any, theirs: Any) -> dict[str, Any]:
    """Which forms are equal, close, open, and how the others differ."""
    found: dict[str, Any] = {"equal": [], "close": [], "open": [], "differ": [], "also": {}}
    for item in program.items:
        wrong: list[dict[str, Any]] = []
        ulp, rules, same, results, said = 0.0, {}, True, 0, ""
        for number, (row, type_, rule, inputs) in enumerate(item.results):
            a, b = (form_programs.conformance.canonical(x[row], type_) for x in (own, theirs))
            one = difference(rule, type_, a, b, inputs, a == b)
            ulp, rules[rule.says] = max(ulp, one.ulp), rule
            same = same and bool((a == b).all())
            results += bool(one.wrong)
            said = said or ("; ".join(filter(None, (rule.says, rule.about))) if one.wrong else "")
            for lane in one.wrong[: min(4, KEPT - len(wrong))]:
                wrong.append(
                    {
                        "lane": lane,
                        "result": number,
                        "inputs": [f"{int(x[lane]):#x}" for x in inputs],
                        "cpu": f"{int(a[lane]):#x}",
                        "gpu": f"{int(b[lane]):#x}",
                        "ulp": apart(a[lane], b[lane], type_),
                        "lanes": len(one.wrong),
                    }
                )
        says = "; ".join(x for x, rule in rules.items() if rule.allowed or rule.opened or len(rules) == 1)
        found["also"][item.opcode] = item.also
        if wrong:
            found["differ"].append(
                {"form": item.opcode, "tolerance": said, "lanes": wrong, "results": results, "of": len(item.results)}
            )
        elif any(rule.opened for rule in rules.values()):
            found["open"].append({"form": item.opcode, "tolerance": says})
        elif any(rule.allowed is not None for rule in rules.values()):
            found["close"].append({"form": item.opcode, "tolerance": says, "ulp": ulp, "equal": same})
        else:
            found["equal"].append(item.opcode)
    return found


def apart(a: Any, b: Any, type_: str) -> int:
    """How many representable numbers lie between two floats (of other types, between their bits)."""
    width = {"pred": 1, "f16x2": 32, "bf16x2": 32}.get(type_) or types.width(type_)

    def place(bits: int) -> int:
        sign = bits >> (width - 1) & 1 if type_ in form_programs.conformance.NAN else 0
        return -(bits & ((1 << (width - 1)) - 1)) if sign else bits

    return abs(place(int(a)) - place(int(b)))


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """The child's answer to {"opcodes": [...]} or {"program": name}."""
    try:
        if "program" in question:
            return corpus_program(question["program"], question["device"])
        programs, refused = ran(question["opcodes"], question["device"], question["arch"])
    except (pl.DeviceFault, pl.UnavailableError, pl.LaunchError) as error:
        return {"fault": str(error).splitlines()[0][:400], "last": True}
    found: dict[str, Any] = {"refused": refused, "equal": [], "close": [], "open": [], "differ": [], "also": {}}
    for one in programs:
        for name, value in compared(*one).items():
            found[name] = {**found[name], **value} if name == "also" else found[name] + value
    return found


def corpus_program(name: str, device: str) -> dict[str, Any]:
    """A program with a known result: whether it is what is left, and the forms in it."""
    case = corpus.module("engine_cases").CASES[name]
    total = case.blocks * int(np.prod(case.threads))
    out = np.zeros(total, np.uint32) if case.out is None else case.out.copy()
    x = np.arange(64, dtype=np.uint32) if case.x is None else case.x.copy()
    text = case.text().replace(".version 8.0", ".version 8.4")  # one of them needs 8.2
    forms = sorted({i.opcode for f in pl.parse(text).functions for i in f.instructions()})
    budget = {} if device == "gpu" else {"budget": 2_000_000}
    try:
        pl.launch(text, case.blocks, case.threads, out, x, shared=case.shared, device=device, **budget)
    except pl.AssemblyError as error:
        return {"refused": {f"program {name!r}": f"the assembler: {error.message}"}}
    got, wanted = out.view(np.uint32).ravel().tolist(), [v & 0xFFFFFFFF for v in case.wanted()]
    wrong = [{"word": k, "gpu": a, "cpu": b} for k, (a, b) in enumerate(zip(got, wanted, strict=True)) if a != b]
    untouched = bool(wrong) and np.array_equal(out, np.zeros(total, np.uint32) if case.out is None else case.out)
    return {"forms": forms, "lanes": wrong[:8], "untouched": untouched}


# -- the part ----------------------------------------------------------------------------------------------------------


def questions(sm: int, arch: str, device: str, rehearse: bool) -> list[dict[str, Any]]:
    """All programs, each with a name by which it is found again."""
    by_family: dict[tuple[str, bool], list[str]] = {}
    for family, opcode in form_programs.forms(sm, mixed=not rehearse):
        by_family.setdefault((family, form(opcode).op.specific), []).append(opcode)
    common = {"device": device, "arch": arch}
    out: list[dict[str, Any]] = []
    for (family, _), opcodes in by_family.items():
        size = SIZES[family]
        chunks = [opcodes[k : k + size] for k in range(0, len(opcodes), size)]
        for chunk in chunks[:: max(1, len(chunks) // 2)][:1] if rehearse else chunks:
            out.append({"chunk": f"{family}: {chunk[0]}", "opcodes": chunk, **common})
    names = list(corpus.module("engine_cases").CASES)
    out += [{"chunk": f"program: {name}", "program": name, **common} for name in (names[:2] if rehearse else names)]
    return out


def note(record: Record, question: dict[str, Any], found: Any) -> list[dict[str, Any]]:
    """Rows for an answer; the questions to ask instead, where it was a fault of one of several forms."""
    chunk, opcodes = question["chunk"], question.get("opcodes", [])
    stopped = found.why if isinstance(found, Died) else found.get("fault")
    if stopped and len(opcodes) > 1:
        half = len(opcodes) // 2
        record.note(f"{opcodes[0]} and {len(opcodes) - 1} other forms in one kernel: {stopped}; run again in halves")
        return [question | {"opcodes": part} for part in (opcodes[:half], opcodes[half:])]
    if stopped:
        subject = opcodes[0] if opcodes else question["program"]
        record.add(chunk=chunk, form=subject, verdict="stopped", says=stopped, wrong=f"{subject}: stopped: {stopped}")
        return []
    for subject, says in found.get("refused", {}).items():
        record.add(chunk=chunk, form=subject, verdict="refused", says=says)
    for one in found.get("differ", ()):
        lane = one["lanes"][0]
        wrong = (
            f"{one['form']}({', '.join(lane['inputs'][:3])}) is {lane['gpu']} on the GPU, {lane['cpu']} on the "
            f"emulator (lane {lane['lane']}; {one['tolerance']})"
        )
        record.add(chunk=chunk, verdict="differs", **one, wrong=wrong)
    if "program" in question:
        if "refused" in found:
            return []
        name, lanes = question["program"], found["lanes"]
        words = OPEN_WORDS.get(name, {})
        known = next(iter(words.values())) if words.keys() >= {x["word"] for x in lanes} and lanes else ""
        open_ = "" if found.get("untouched") else OPEN_PROGRAMS.get(name, known)
        wrong = (
            f"program {name!r}: word {lanes[0]['word']} is {lanes[0]['gpu']}, not {lanes[0]['cpu']}" if lanes else ""
        )
        verdict = ("open" if open_ else "differs") if lanes else "equal"
        record.add(
            chunk=chunk,
            program=name,
            verdict=verdict,
            forms=found["forms"],
            says=open_ if lanes else "",
            lanes=lanes,
            wrong="" if open_ else wrong,
        )
        return []
    also = sorted({x for forms in found["also"].values() for x in forms})
    record.add(
        chunk=chunk,
        verdict="compared",
        part=opcodes[0],
        equal=found["equal"],
        close=found["close"],
        open=found["open"],
        also=also,
    )
    return []


def coverage(rows: list[dict[str, Any]], sm: int) -> dict[str, Any]:
    """How many entries of the table were compared, and why the others were not."""
    compared_, refused = set(), set()
    for row in rows:
        if row["verdict"] == "compared":
            opcodes = [*row["equal"], *row["also"], *(x["form"] for name in ("close", "open") for x in row[name])]
        else:
            opcodes = [*row.get("forms", []), *([row["form"]] if row["verdict"] == "differs" and "form" in row else [])]
        for opcode in opcodes:
            compared_.add(key(form(opcode).op))
        if row["verdict"] == "refused" and not row["chunk"].startswith("program: "):
            refused.add(key(form(row["form"]).op))
    entries = all_ops()
    left: dict[str, str] = {}
    for entry in entries:
        name = key(entry)
        if name in compared_:
            continue
        examples = [form(x) for x in isa_examples.opcodes(entry)]
        least = min(x.sm for x in examples)
        if not entry.executed:
            left[name] = "the emulator does not execute it"
        elif all(why := [form_programs.left_out(x) for x in examples]):
            left[name] = why[0]
        elif least > sm:
            left[name] = f"needs sm_{least}"
        elif entry.specific and least != sm:
            left[name] = f"needs sm_{least}a"
        elif name in refused:
            left[name] = "the assembler refuses every form of it, or the emulator does"
        elif entry.name in ("trap", "brkpt"):
            left[name] = "stops the kernel"
        elif entry.name == "multimem":
            left[name] = "wants a multicast object, which several GPUs make together"
        elif entry.kind == "flow":
            left[name] = "no program of tests/support/engine_cases.py has it"
        else:
            left[name] = "not reached"
    return {"entries": len(list(entries)), "compared": len(compared_), "left": left}


def main() -> int:
    """Runs what no earlier run has compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--device", default="gpu", choices=("gpu", "step"), help="step: the emulator's other engine")
    parser.add_argument("--workers", type=int, default=min(16, os.cpu_count() or 1))
    if "--worker" in sys.argv:
        serve(answer)
        return 0
    record, options = record_for("conformance", __doc__, parser)
    if options.device == "gpu" and not pl.gpu.available():
        record.missing("an NVIDIA GPU", "none is there, or no driver for it")
        return record.end()
    arch = pl.gpu.describe().arch if options.device == "gpu" else "sm_90"
    sm = int(arch[3:])
    compare(record, questions(sm, arch, options.device, options.rehearse), options.workers)
    record.rows = [row for row in record.rows if "coverage" not in row]
    record.add(verdict="", coverage=coverage(record.rows, sm))
    return record.end(summary(record.rows))


def compare(record: Record, asked: list[dict[str, Any]], workers: int) -> None:
    """Asks the children for what has no finished rows yet."""
    finished = {row["finished"] for row in record.rows if "finished" in row}
    record.rows = [row for row in record.rows if row.get("chunk") in finished or row.get("finished")]
    todo = [question for question in asked if question["chunk"] not in finished]
    pieces = Counter(question["chunk"] for question in todo)
    command = [sys.executable, "-m", "benchmarks.gpu.conformance", "--worker"]
    with Workers(command, count=max(1, min(workers, len(todo))), limit=LIMIT) as children:
        for question in todo:
            children.put(question)
        for question, found in children:
            chunk = question["chunk"]
            for more in note(record, question, found):
                pieces[chunk] += 1
                children.put(more)
            pieces[chunk] -= 1
            if not pieces[chunk]:
                del pieces[chunk]
                record.add(finished=chunk, verdict="")
            if pieces and record.out_of_time(len(pieces)):
                break


def counts(rows: list[dict[str, Any]]) -> Counter[str]:
    """How many forms of each verdict."""
    out: Counter[str] = Counter()
    for row in rows:
        if row.get("verdict") == "compared":
            out.update({name: len(row[name]) for name in ("equal", "close", "open")})
        elif "program" in row:
            out[f"programs {row['verdict']}"] += 1
        elif row.get("verdict"):
            out[row["verdict"]] += 1
    return out


def summary(rows: list[dict[str, Any]]) -> str:
    """One line."""
    return ", ".join(f"{count} {name}" for name, count in counts(rows).items() if count) or "nothing compared"


def table(found: dict[str, Any]) -> str:
    """What was compared, as Markdown."""
    rows = found["rows"]
    lines = [f"Forms of the instruction table, GPU beside emulator: {summary(rows)}.", ""]
    for row in rows:
        if "coverage" in row:
            c = row["coverage"]
            why = Counter(c["left"].values())
            said = "; ".join(f"{n} {reason}" for reason, n in why.most_common())
            lines += [f"{c['compared']} of {c['entries']} entries of the table were compared. Not: {said}.", ""]
    differ = [row for row in rows if row.get("verdict") in ("differs", "stopped")]
    if differ:
        lines += ["| form | result |", "| --- | --- |"]
        lines += [f"| {row.get('form', row.get('program'))} | {row['wrong'].replace('|', '/')} |" for row in differ]
        lines.append("")
    close = [one for row in rows if row.get("verdict") == "compared" for one in row["close"]]
    worst: dict[str, tuple[float, int, str]] = {}
    for one in close:
        entry = key(form(one["form"]).op)
        ulp, count, says = worst.get(entry, (0.0, 0, one["tolerance"]))
        worst[entry] = max(ulp, one["ulp"]), count + 1, says
    if worst:
        lines += ["| close, not equal by specification | forms | worst, ulp | allowed |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {entry} | {n} | {ulp:.3g} | {says.replace('|', '&#124;')} |" for entry, (ulp, n, says) in worst.items()
        ]
        lines.append("")
    refused = [row for row in rows if row.get("verdict") == "refused"]
    if refused:
        words = Counter(row["says"].split(";")[0][:140] for row in refused)
        lines += ["| refused | forms |", "| --- | --- |"]
        lines += [f"| {says.replace('|', '/')} | {n} |" for says, n in words.most_common(40)]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
