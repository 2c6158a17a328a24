"""The gallery's finders: checks, counters, the assembler, and errors laid out by key, by column and by step."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import reference
from ptxlab.course.gallery.cases import Case, Trial, shortened
from ptxlab.course.value_watch import Watch, destinations, place, probed
from ptxlab.course.values import apart
from ptxlab.errors import AssemblyError, DeviceFault
from ptxlab.findings import Finding
from ptxlab.gpu import assemble
from ptxlab.launch.run import ALL_CHECKS
from ptxlab.launch.run import launch as run_launch

Array = NDArray[Any]
_watching: list[Any] = []


@contextlib.contextmanager
def watched(recorder: Any) -> Iterator[None]:
    """Launches of trials are recorded meanwhile, on the interpreter."""
    _watching.append(recorder)
    try:
        yield
    finally:
        _watching.pop()


def launch(*what: Any, **options: Any) -> Any:
    """The launch of a trial."""
    return run_launch(*what, **options | ({"trace": _watching[-1], "device": "step"} if _watching else {}))


# -- inputs and results ------------------------------------------------------------------------------------------------


def inputs(case: Case) -> tuple[Array, Array, Array]:
    """q [rows, dim], k and v [keys, dim] of one head, drawn at random."""
    dtype = np.float64 if case.dtype == "f64" else np.float32
    q, _, _ = reference.random_inputs(1, 1, 1, case.rows, 1, case.dim, sigma=case.sigma, dtype=dtype, seed=5)
    _, k, v = reference.random_inputs(1, 1, 1, 1, case.keys, case.dim, dtype=dtype, seed=6)
    return q[0, 0], k[0, 0], v[0, 0]


def exact(q: Array, k: Array, v: Array, causal: bool = False) -> Array:
    """Attention of one head in float64."""
    o: Array = reference.attention(q[None, None], k[None, None], v[None, None], causal=causal).o[0, 0]
    return o


def judged(found: Array, expected: Array, tolerance: float) -> tuple[bool, str]:
    """Whether an output passes, and its largest error in words."""
    nans = int(np.isnan(found).sum())
    if nans:
        return False, f"{nans} of {found.size} outputs are NaN"
    error = float(np.max(np.abs(found - expected), initial=0.0))
    return error <= tolerance, f"the largest error is {error:.2g} (up to {tolerance:g} passes)"


# -- checks, counters, assembler ---------------------------------------------------------------------------------------


def checked(
    check: str, case: Case, kernel: Any, grid: Any, block: int, *args: Any, output: Array, right: Any, **options: Any
) -> Trial:
    """Runs with all checks on. What `check` says is the finding; it fails the trial, and so does a fault or an `output`
    (one of `args`) that is not `right`."""
    try:
        run = launch(kernel, grid, block, *args, checks=ALL_CHECKS, **options)
    except DeviceFault as fault:
        return Trial(False, "the launch is stopped", shortened(str(fault)), fault.line)
    ok, result = judged(output, right, case.tolerance)
    found = sorted((finding for finding in run.findings if finding.check == check), key=_plainness)
    if not found:
        return Trial(ok, result)
    result = f"{check} finds something; the numbers are right" if ok else result
    more = f"\n... and {len(found) - 1} more findings" if len(found) > 1 else ""
    line = found[0].first.line if found[0].first is not None else 0
    return Trial(False, result, shortened(str(found[0])) + more, line)


def _plainness(finding: Finding) -> tuple[bool, bool]:
    """The plainest story comes first: it has two threads, and they are of different warps."""
    a, b = finding.first, finding.second
    return b is None, a is not None and b is not None and a.warp == b.warp


def assembled(kernel: Any, arch: str, passes: str) -> Trial:
    """Lets NVIDIA's assembler read a kernel; its first complaint is the finding. `passes` says what a test sees."""
    try:
        made = assemble(kernel, arch)
    except AssemblyError as error:
        return Trial(False, passes, shortened(str(error)), error.line)
    return Trial(True, f"it assembles, {made.registers} registers")


# -- errors of attention -----------------------------------------------------------------------------------------------

Attend = Callable[[Array, Array, Array], Array]
"""Runs a kernel on q, k and v of one head and gives its output."""


def by_key(attend: Attend, case: Case) -> Trial:
    """Error by key. With unit vectors for values the output *is* the weight that each row gave each key."""
    q, k, v = inputs(case)
    ok, result = judged(attend(q, k, v), exact(q, k, v, case.causal), case.tolerance)
    weights, expected = np.zeros((case.rows, case.keys)), np.zeros((case.rows, case.keys))
    for first in range(0, case.keys, case.dim):
        unit = np.eye(case.keys, case.dim, -first, dtype=v.dtype)
        count = min(case.dim, case.keys - first)
        weights[:, first : first + count] = attend(q, k, unit)[:, :count]
        expected[:, first : first + count] = exact(q, k, unit, case.causal)[:, :count]
    return Trial(ok, result, _keys(weights, expected))


def _keys(weights: Array, expected: Array) -> str:
    """What is wrong with the weights that the rows (one row of the array each) give to the keys."""
    hidden = np.argwhere((expected == 0) & (weights != 0))
    if len(hidden):
        row, key = (int(n) for n in hidden[0])
        return (
            f"error by key: row {row} may not see key {key} and gives it the weight {weights[row, key]:.3g}; "
            f"{len(hidden)} weights should be 0 and are not"
        )
    dropped = np.flatnonzero((weights == 0).all(axis=0) & (expected > 0).any(axis=0))
    if len(dropped):
        total = float(expected[:, dropped].sum(axis=1).max())
        return (
            f"error by key: no row gives any weight to keys {spans(dropped)}; float64 gives them up to "
            f"{total:.2g} of a row's weight together"
        )
    sums = weights.sum(axis=1)
    row = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[row] - 1) > 1e-4:
        return f"error by key: the weights of row {row} add up to {sums[row]:.3g}, not to 1"
    return ""


def by_column(attend: Attend, case: Case) -> Trial:
    """Error by column: which columns of the output are wrong."""
    q, k, v = inputs(case)
    o, expected = attend(q, k, v), exact(q, k, v, case.causal)
    ok, result = judged(o, expected, case.tolerance)
    error = np.abs(o - expected)
    wrong = error.max(axis=0) > case.tolerance
    if not wrong.any():
        return Trial(ok, result)
    row, column = np.unravel_index(int(np.argmax(error)), error.shape)
    right = spans(np.flatnonzero(~wrong))
    got, due = apart(o[row, column], expected[row, column])
    found = (
        f"error by column: columns {spans(np.flatnonzero(wrong))} are wrong, {f'{right} right' if right else 'all'}; "
        f"worst in row {row}, column {column}: {got} instead of {due}"
    )
    return Trial(ok, result, found)


def by_element(o: Array, expected: Array, tolerance: float) -> Trial:
    """The error of a small output: in which rows, and whether they are at least different rows."""
    ok, result = judged(o, expected, tolerance)
    error = np.abs(o - expected)
    wrong = np.flatnonzero(error.max(axis=1) > tolerance)
    if not len(wrong):
        return Trial(ok, result)
    row, column = np.unravel_index(int(np.argmax(error)), error.shape)
    got, due = apart(o[row, column], expected[row, column])
    found = f"error plot: rows {spans(wrong)} are wrong, worst in row {row}, column {column}: {got} instead of {due}"
    same = (o == o[0]).all()
    return Trial(ok, result, found + ("; all rows of the output are the same" if same else ""))


def by_ulp(attend: Attend, case: Case) -> Trial:
    """The error in units of the last place of the type that the output is in, worst element first."""
    q, k, v = inputs(case)
    o, expected = attend(q, k, v), exact(q, k, v, case.causal)
    size = np.abs(expected).max(axis=1, keepdims=True)  # of the row: sums that cancel have fewer digits
    ok, result = judged(o / size, expected / size, case.tolerance)
    ulps = np.abs(o - expected) / np.spacing(size.astype(o.dtype))
    row, column = np.unravel_index(int(np.argmax(ulps)), ulps.shape)
    worst = float(ulps[row, column])
    if worst < 1000:
        return Trial(ok, result)
    lost = f"{worst:,.0f} ULP of {o.dtype}, {np.log2(worst):.0f} of its bits"
    return Trial(ok, result, f"ULP plot: row {row}, column {column} is off by {lost}")


def by_step(run: Callable[..., None], kernel: Any, case: Case, block: int) -> Trial:
    """The state after each key: m, l and rescale from the probes, and `%acc0` as it was then, against float64.

    run(q, k, v, o, probe, **options) launches; the kernel probes (row, key) and keeps its output row in `%acc`.
    """
    q, k, v = inputs(case)
    o, state, watch = np.zeros_like(q), np.full((case.rows, case.keys, 3), np.nan, q.dtype), Watch(block)
    run(q, k, v, o, state, device="step", trace=watch)
    ok, result = judged(o, exact(q, k, v), case.tolerance)
    rows = [(0, 0, row) for row in range(case.rows)]
    right = reference.attention(q[None, None], k[None, None], v[None, None], tile=1, rows=rows).state
    assert right is not None
    for which, name in ((2, "rescale"), (0, "m"), (1, "l")):
        wrong = np.argwhere(~np.isclose(state[:, :, which], right[:, :, which], rtol=1e-3, atol=1e-4))
        wrong = wrong[wrong[:, 1] > 0]
        if len(wrong):
            row, key = (int(n) for n in wrong[0])
            line = probed(kernel, which)
            got, due = apart(state[row, key, which], right[row, key, which])
            before, after = apart(*right[row, key - 1 : key + 1, 0])
            grew = f"(m went from {before} to {after})"
            says = f"state plot: thread {row}, key {key}: {name} is {got} instead of {due} {grew}"
            return Trial(ok, result, f"{says}\n{shortened(place(kernel, line))}", line)
    return _accumulator(watch, kernel, case, Trial(ok, result), (q, k, v))


def _accumulator(watch: Watch, kernel: Any, case: Case, trial: Trial, qkv: tuple[Array, Array, Array]) -> Trial:
    """Where `%acc0` first differs from the sum of the weighted values so far, in any thread."""
    q, k, v = (x.astype(np.float64) for x in qkv)
    scores = q @ k.T * reference.default_scale(case.dim)
    for row in range(case.rows):
        key = -1
        for event, lane in watch.of(row):
            if destinations(event.instruction) != ["%acc0"] or not event.instruction.opcode.startswith("fma"):
                continue
            key += 1
            seen = scores[row, : key + 1]
            right = float(np.exp(seen - seen.max()) @ v[: key + 1, 0])
            if not np.isclose(event.values[0][lane], right, rtol=1e-3, atol=1e-4):
                got, due = apart(event.values[0][lane], right)
                says = (
                    f"state plot: m, l and rescale are right, but in thread {row}, key {key}, acc0 is "
                    f"{got} instead of {due} (m went from {seen[:-1].max():.4g} to "
                    f"{seen.max():.4g})"
                )
                return Trial(trial.ok, trial.result, f"{says}\n{shortened(place(kernel, event.line))}", event.line)
    return trial


def first_nan(run: Callable[..., None], kernel: Any, case: Case, block: int) -> Trial:
    """The instruction that made the first NaN, and what it was made of. run(q, k, v, o, **options) launches."""
    q, k, v = inputs(case)
    o, watch = np.zeros_like(q), Watch(block)
    run(q, k, v, o, device="step", trace=watch)
    ok, result = judged(o, exact(q, k, v), case.tolerance)
    for row in range(case.rows):
        nan = watch.first_nan(row)
        if nan is not None:
            held = " and ".join(f"{x:g}" for x in watch.inputs(nan, row))
            found = f"error plot: thread {row} computed a NaN from {held}\n{shortened(place(kernel, nan.line))}"
            return Trial(ok, result, found, nan.line)
    return Trial(ok, result)


def spans(numbers: Array) -> str:
    """`0 to 3, 7` of sorted numbers."""
    parts: list[list[int]] = []
    for n in (int(n) for n in numbers):
        if parts and parts[-1][1] == n - 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ", ".join(f"{a} to {b}" if b > a else str(a) for a, b in parts)
