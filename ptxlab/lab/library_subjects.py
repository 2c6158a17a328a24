"""The kernels of the library in the explorer, by name: `pl.attention` and `pl.decode` over random inputs."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ptxlab import kernels, reference
from ptxlab.attention import caches, decode
from ptxlab.attention.problem import run
from ptxlab.attention.tile_lists import tile_lists
from ptxlab.errors import LaunchError, TargetError
from ptxlab.kernels import Parameter
from ptxlab.lab import dataflow, variant_controls
from ptxlab.lab.merge_plot import merged
from ptxlab.lab.python_text import executed, explained
from ptxlab.lab.softmax_steps import row_scores, steps
from ptxlab.lab.subject import (
    CHECKS,
    Judgement,
    Ran,
    Shape,
    Source,
    Subject,
    Values,
    looked_at,
    machines,
    place,
    places,
    plain_attention,
    random_inputs,
    ways,
)
from ptxlab.launch.run import cpu_engine
from ptxlab.performance.peaks import array_bytes

PROBLEM = (
    Parameter("batch", "sequences (B)", 1, minimum=1, maximum=8),
    Parameter("heads", "query heads (Hq)", 1, minimum=1, maximum=128),
    Parameter("kv_heads", "key and value heads (Hkv); heads must be a multiple of it", 1, minimum=1, maximum=128),
    Parameter("seed", "seed of the random q, k and v", 0, minimum=0, maximum=2**31 - 1),
    Parameter("sigma", "standard deviation of the logits: small ones hide rescaling bugs", 1.0),
    *variant_controls.PROBLEM,
    CHECKS,
)
"""Parameters that every problem has; they do not change the PTX."""
PREFILL = (
    Parameter("seq_q", "query rows (Sq)", 64, minimum=1, maximum=4096),
    Parameter("seq_k", "keys and values (Sk)", 64, minimum=0, maximum=4096),
    *PROBLEM,
)
DECODE = (
    Parameter("seq_k", "keys of each sequence so far", 64, minimum=0, maximum=16384),
    Parameter("splits", "into how many parts the keys are cut", 4, minimum=1, maximum=64),
    *PROBLEM,
)
"""Those of each phase. `splits` counts for kernels that split."""
MOST = 1 << 24
"""Elements of q, and of k, in the largest problem."""
CONFLICTED = "mma"
"""The kernel whose bank conflicts are worth a look: its rows of 128 bytes begin in the same bank."""


class Attention(Subject):
    """What both phases share: the spec, its parameters, the family of all rungs; how it is run, judged and recorded."""

    family = kernels.names()
    shown = 0
    """Which launch of a result is shown."""

    def __init__(self, spec: Any) -> None:
        self.spec, self.title, self.name = spec, spec.title, spec.name

    def check(self, values: Values) -> None:
        """Also that heads are a multiple of kv_heads."""
        super().check(values)
        variant_controls.VARIANT.check(self.name, values.get("variant", "none"))
        if values["heads"] % values["kv_heads"]:
            raise LaunchError(f"heads = {values['heads']} should be a multiple of kv_heads = {values['kv_heads']}")
        for length, heads in (("seq_q", "heads"), ("seq_k", "kv_heads")):
            elements = values["batch"] * values[heads] * values.get(length, 1) * values["head_dim"]
            if elements > MOST:
                raise LaunchError(
                    f"{length} = {values[length]} for {values[heads]} heads of {values['batch']} sequences are "
                    f"{elements:,} elements; the explorer runs up to {MOST:,}: choose a smaller {length} or {heads}"
                )

    def fits(self, values: Values) -> None:
        """Also that the kernel can be configured so."""
        super().fits(values)
        self.configured(values)

    def configured(self, values: Values) -> Any:
        """The configuration of the kernel with these parameters; `TargetError` names a limit that is broken."""
        return self.spec.configure(**self._sizes(values))

    def _sizes(self, values: Values) -> dict[str, Any]:
        """The parameters of a build, without the variant."""
        return {p.name: values[p.name] for p in self.building if p not in variant_controls.BUILDING}

    def unused(self, values: Values) -> set[str]:
        """Those of variants that are not chosen."""
        return variant_controls.unused(values)

    def size(self, values: Values) -> float:
        """The multiplications of all scores: one for each dimension of each pair of row and key that the causal mask
        lets through. A variant solves the same problem: what it skips shows as saved, and float64 skips none."""
        pairs = reference.visible_pairs(values.get("seq_q", 1), values["seq_k"], bool(values.get("causal")))
        return float(values["batch"] * values["heads"] * pairs * values["head_dim"])

    def build(self, values: Values) -> Any:
        """The kernel of the library with these parameters."""
        return self.spec.build(**self._sizes(values), **variant_controls.mods(values))

    @functools.cached_property
    def source(self) -> Source:
        """The file that writes the kernel."""
        return Source("Python", self.spec.source, inspect.getfile(self.spec.make))

    def of_source(self, text: str) -> Subject:
        """The rung that the text of such a file defines."""
        module = self.spec.make.__module__
        names = {"__name__": module, "__package__": module.rpartition(".")[0]}
        file = executed(text, f"{self.name}.py", names)
        with explained(file):
            spec: Any = names.get("SPEC")
            if not isinstance(spec, type(self.spec)):
                raise LaunchError(f"the text defines no {type(self.spec).__name__} that is called SPEC")
            found = type(self)(dataclasses.replace(spec, name=self.name))
        found.source = Source("Python", text, file)
        return found

    def lesson(self, built: Any) -> dict[str, Any]:
        """The rung's own, which one comes next, and which one to look at for bank conflicts."""
        spec, lines = self.spec, built.ptx.splitlines()
        names = kernels.names()
        after = names[names.index(self.name) + 1 :] if self.name in names else ()
        opcode = re.compile(rf"\s*(@!?%\w+\s+)?{re.escape(spec.opens)}[.\s]")
        line = next((n for n, text in enumerate(lines, 1) if spec.opens and opcode.match(text)), 0)
        return {"question": spec.question, "look": spec.look, "line": line,
                "next": _told(after[0]) if after else None,
                "conflicts": None if self.name == CONFLICTED else _told(CONFLICTED)}  # fmt: skip

    def inputs(self, built: Any, values: Values) -> tuple[Any, ...]:
        """The random arrays of a problem."""
        raise NotImplementedError

    def solved(self, built: Any, values: Values, inputs: tuple[Any, ...], **options: Any) -> Any:
        """The result of this kernel on such arrays, with further options of the call."""
        raise NotImplementedError

    def run(self, built: Any, values: Values, device: str) -> Ran:
        """Runs on every machine that there is, and compares with float64."""
        inputs = self.inputs(built, values)
        results = {
            where: self.solved(built, values, inputs, device=where, **looked_at(where, values))
            for where in machines(device)
        }
        first = next(iter(results.values()))
        plain = [plain_attention(*case, dtype=first.o.dtype, **how) for case, how in first.problem.cases(built)]
        runs = {where: result.runs[self.shown] for where, result in results.items()}
        others = tuple(run for n, run in enumerate(first.runs) if n != self.shown)
        return Ran(
            first.runs[self.shown],
            next((run.counters for run in runs.values() if run.counters), None),
            others,
            judged(results, np.concatenate(plain).reshape(first.o.shape), self.rows(values)[0]),
            kept=inputs,
            least=None if self.shown else array_bytes(first),  # a merge reads and writes other arrays
            found=tuple(f for run in runs.values() if run is not first.runs[self.shown] for f in run.findings),
        )

    def recorded(self, built: Any, values: Values, trace: Any, **options: Any) -> Any:
        """The same problem; of two launches the one that is shown."""
        more = {"device": cpu_engine(), "trace": trace, "checks": values["checks"], **options}
        return self.solved(built, values, self.inputs(built, values), **more).runs[self.shown]

    def state(self, built: Any, values: Values, ran: Ran, head: tuple[int, int], row: int) -> dict[str, Any]:
        """The kernel is run once more in its probing build; of a decode kernel the parts that it keeps apart."""
        decodes, keys = self.spec.phase == "decode", values["seq_k"]
        b, h, _ = here = (0, row, 0) if decodes else (*head, row)
        at, sequence = ((head[0], row), head[0]) if decodes else (here, 0)
        out = self.solved(built, values, ran.kept, device=ran.run.device, state=[at])
        assert out.state is not None
        (q, k, v), how = out.problem.cases(built)[sequence]
        mods, kv_head = out.problem.changes(sequence), h // (q.shape[1] // k.shape[1])
        scores, sees = row_scores(q[here], k[b, kv_head], how.get("causal", False), here, q.shape[2], mods)
        tile, unit = self.parts(built, out)
        label = f"{place(*head, ran.kept[0].shape)}row {row}"
        if decodes:
            label = (f"sequence {head[0]}, " if len(ran.kept[0]) > 1 else "") + f"head {row}"
        told = {"label": label, "tiles": len(out.state[0]), "tile_kv": tile, "unit": unit, "row": row}
        if not sees.any():
            why = f"{'head' if decodes else 'row'} {row} sees no key" if keys else "there are no keys"
            return {**told, "note": nothing(why, mods, h)}
        exact, _ = out.exact(0)
        told |= {"kernel": series(out.state[0]), "numpy": series(exact)}
        told["makers"] = makers(out.kernels[-1].module, built.module)
        if unit in ("split", "warp"):
            both = (*merged(out.state[0]), *merged(exact))
            told["merged"] = dict(zip(("m", "l", "numpy_m", "numpy_l"), map(finite, both), strict=True))
            return {**told, "parts": True}
        sinks = mods.get("sinks")
        return told | steps(scores, v[b, kv_head], tile, -np.inf if sinks is None else float(sinks[h]))

    def parts(self, built: Any, result: Any) -> tuple[int, str]:
        """Keys of a part of the online softmax, and what a part is called."""
        raise NotImplementedError

    def tiles(self, built: Any, values: Values) -> dict[str, Any]:
        """Rows and keys as the kernel cuts them."""
        tile_q, tile_kv, kinds = self.cut(built, values)
        name, rows = self.rows(values)
        return {
            "rows": rows,
            "keys": values["seq_k"],
            "tile_q": tile_q,
            "tile_kv": tile_kv,
            "causal": bool(getattr(built.config, "causal", False)),
            "kinds": kinds,
            "row_name": name,
        }

    def cut(self, built: Any, values: Values) -> tuple[int, int, dict[str, Any] | None]:
        """Rows and keys of a tile, and `tile_kinds` where a variant hides keys."""
        raise NotImplementedError


class Prefill(Attention):
    """A prefill rung: `pl.attention` on random inputs."""

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.building = tuple(_buildable(spec, p) for p in spec.parameters.values() if p.name != "probes")
        size = _telling(self)  # as many rows: a mask then leaves out tiles, whatever the rung
        self.problem = _opened(PREFILL, {"seq_q": size, "seq_k": size})
        self.building += variant_controls.BUILDING

    def shape(self, built: Any, values: Values) -> Shape:
        """Of the kernel's own launch."""
        sizes = (values[name] for name in ("batch", "heads", "kv_heads", "seq_q", "seq_k"))
        shape: Shape = built.launch_shape(*sizes)
        return shape

    def groups(self, values: Values) -> list[tuple[str, tuple[int, int]]]:
        """One for each head of each sequence."""
        return places(values["batch"], values["heads"])

    def rows(self, values: Values) -> tuple[str, int]:
        """Of the queries."""
        return "query row", values["seq_q"]

    def inputs(self, built: Any, values: Values) -> tuple[Any, ...]:
        """q, k and v."""
        return random_inputs(values, values["seq_q"], built.config)

    def solved(self, built: Any, values: Values, inputs: tuple[Any, ...], **options: Any) -> Any:
        """By `pl.attention`."""
        from ptxlab.attention.prefill import attention

        q, k, v = inputs
        causal, mods = bool(values["causal"]), variant_controls.mods(values)
        return attention(q, k, v, kernel=built, causal=causal, **mods, **options)

    def block_of(self, built: Any, values: Values, head: tuple[int, int], row: int) -> int:
        """Where the kernel's own grid has the row."""
        grid, *_ = self.shape(built, values)
        at, heads, sequences = min(row, values["seq_q"] - 1), values["heads"], values["batch"]
        if not (head[0] < sequences and head[1] < heads):
            return 0
        return int(built.block_of(grid, heads, *head, at))

    def parts(self, built: Any, result: Any) -> tuple[int, str]:
        """The tiles of keys."""
        tile: int = built.tile_kv
        return tile, "key" if tile == 1 else f"KV tile of {tile} keys"

    def cut(self, built: Any, values: Values) -> tuple[int, int, dict[str, Any] | None]:
        """The kernel's own tiles."""
        c, made, kinds = built.config, variant_controls.masked(values), None
        if made is not None and values["seq_k"]:
            sizes = values["batch"], values["heads"], values["seq_q"], values["seq_k"]
            lists = tile_lists(made, np.float64 if c.dtype == "f64" else np.float32, sizes, c.listed)
            kinds = tile_kinds(lists.kinds[0, 0], c.listed)
        return c.tile_q, c.tile_kv, kinds


def _buildable(spec: Any, p: Parameter) -> Parameter:
    """A parameter whose default the kernel has and shows what it is about; the default target is one that it can be
    built for."""
    if p.name == "causal" and "causal" in spec.idea:
        return dataclasses.replace(p, default=True)
    if p.name != "arch" or p.default in p.choices:
        return p
    for arch in p.choices:
        try:
            spec.configure(head_dim=64, causal=False, dtype=spec.dtypes[0], arch=arch)
        except TargetError:
            continue
        return dataclasses.replace(p, default=arch)
    return dataclasses.replace(p, default=p.choices[0])


def _telling(subject: Prefill) -> int:
    """Rows and keys that show what a rung is about: a few tiles, or 64 keys one by one."""
    if not subject.spec.tile:
        return 64
    tile: int = subject.spec.configure(**{p.name: p.default for p in subject.building}).tile_kv
    return tile * (4 if tile >= 64 else 6)


def _opened(problem: tuple[Parameter, ...], sizes: Mapping[str, int]) -> tuple[Parameter, ...]:
    """The parameters of a problem that opens with these values."""
    return tuple(dataclasses.replace(p, default=sizes.get(p.name, p.default)) for p in problem)


_SECTOR = 8
"""Entries of a block table in a sector."""
OWN = {"decode_gqa": {"heads": 8, "seq_k": 1024}}
"""What a kernel opens with instead: heads that share keys, of which each warp of a split has a few tiles."""
SPLIT = ("decode_split", "decode_gqa", "decode_reduce")


class Decode(Attention):
    """A decode rung: `pl.decode` on a random cache; `decode_reduce` is shown as the second half of `decode_split`."""

    costs = 8.0  # where one query is compared with float64, the keys are read for it alone

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        hidden = {"probes", "partial", "length"}
        self.building = tuple(_runnable(p) for p in spec.parameters.values() if p.name not in hidden)
        self.building += variant_controls.BUILDING if spec.scores else ()
        left_out = {"splits"} if spec.name not in SPLIT else set()
        left_out |= set() if spec.scores else {p.name for p in variant_controls.PROBLEM}
        self.problem = _opened(tuple(p for p in DECODE if p.name not in left_out), OWN.get(spec.name, {}))
        self.shown = 1 if spec.name == "decode_reduce" else 0

    def build(self, values: Values) -> Any:
        """The kernel as `pl.decode` launches it: with `splits` above 1, `decode_gqa` stores partial results."""
        more = {"partial": values["splits"] > 1} if "partial" in self.spec.parameters else {}
        return self.spec.build(**self._sizes(values), **more, **variant_controls.mods(values))

    def shape(self, built: Any, values: Values) -> Shape:
        """Of the kernel's own launch."""
        splits = values.get("splits", 1) if self.name in SPLIT[:2] else 1
        shape: Shape = built.launch_shape(values["batch"], values["heads"], values["kv_heads"], splits)
        return shape

    def rows(self, values: Values) -> tuple[str, int]:
        """One for each query head."""
        return "query head", values["heads"]

    def groups(self, values: Values) -> list[tuple[str, tuple[int, int]]]:
        """One for each sequence; its rows are the query heads."""
        return [(str(b), (b, 0)) for b in range(values["batch"])]

    def block_of(self, built: Any, values: Values, head: tuple[int, int], row: int) -> int:
        """Query heads, or the groups that share a key/value head, in x, sequences in y; the first split."""
        (x, _, _), *_ = self.shape(built, values)
        group = values["heads"] // values["kv_heads"]
        at = row if x == values["heads"] else row // group * (x // values["kv_heads"]) + row % group // 16
        return int(min(at, x - 1) + x * head[0])

    def parts(self, built: Any, result: Any) -> tuple[int, str]:
        """What is merged; for `decode` the keys one by one."""
        return 1, "key" if self.name == "decode" else "split" if len(result.runs) > 1 else "warp"

    def cut(self, built: Any, values: Values) -> tuple[int, int, dict[str, Any] | None]:
        """One head, and what a split of the grid takes."""
        splits, keys = values.get("splits", 1) if self.name in SPLIT else 1, values["seq_k"]
        made = variant_controls.masked(values)
        if made is None:
            return 1, 1 if self.name == "decode" else max(1, -(-keys // splits)), None
        sees = np.broadcast_to(made.functions[1](0, 0, keys - 1, np.arange(keys)), keys)
        return 1, 1, tile_kinds(2 * sees.astype(int), (values["heads"], 1))  # the parts begin at the first key seen

    def inputs(self, built: Any, values: Values) -> tuple[Any, ...]:
        """q, the cache and, for a paged one, the block table, whose pages lie in no order. Each of its rows begins a
        sector, so that reading one costs the same wherever it stands: a few sequences then count as all do."""
        config = built.config
        q, k, v = random_inputs({**values, "seq_k": max(values["seq_k"], 1)}, 1, config)
        q = q[:, :, 0]
        if config.cache == "dense":
            return q, k, v, None
        key, value, table = caches.in_pages(k, v, config.page_size, seed=values["seed"])
        aligned = np.full((len(table), -(-table.shape[1] // _SECTOR) * _SECTOR), -1, np.int32)
        aligned[:, : table.shape[1]] = table
        return q, key, value, aligned

    def solved(self, built: Any, values: Values, inputs: tuple[Any, ...], **options: Any) -> Any:
        """By `pl.decode`, of `decode_split` where this is the kernel that merges."""
        q, key, value, table = inputs
        lengths, mods = np.full(len(q), values["seq_k"], np.int32), variant_controls.mods(values)
        if not self.shown:
            more = {"splits": values.get("splits"), **mods, **options}
            return decode.decode(q, key, value, lengths, table, kernel=built, **more)
        c, state = built.config, options.pop("state", False)
        made = kernels.get("decode_split", "decode").build(head_dim=c.head_dim, dtype=c.dtype, arch=c.arch)
        problem: Any = Merging.of(q, key, value, lengths, table, None, values["splits"], {})
        return run(dataclasses.replace(problem, merge=built), made, state, options)


@dataclasses.dataclass(frozen=True, eq=False)
class Merging(decode.Decode):
    """A problem whose splits this kernel merges: it may be an edited one."""

    merge: Any = None

    def steps(self, built: Any, rows: Any) -> Any:
        """The last launch is that of `merge`."""
        steps, into = super().steps(built, rows)
        last = self.merge.with_probes() if rows else self.merge
        return [*steps[:-1], steps[-1]._replace(kernel=last)], into


def _runnable(p: Parameter) -> Parameter:
    """A parameter without the choice that only CUDA graphs need: caches after pointers."""
    if p.name != "cache":
        return p
    kinds = tuple(kind for kind in p.choices if kind != "pointers")
    return Parameter(p.name, p.says, kinds[0], kinds)


@functools.cache
def named(name: str) -> Subject:
    """The subject of a kernel of the library; `kernels.UnknownKernel` lists those there are."""
    spec = kernels.get(name)
    return Prefill(spec) if spec.phase == "prefill" else Decode(spec)


def _told(name: str) -> dict[str, str]:
    """A kernel that the page offers."""
    return {"name": name, "title": kernels.get(name).title}


def judged(results: Mapping[str, Any], plain: Any, rows: str) -> Judgement:
    """The results of one or more devices held against float64, the first of them element by element, in pictures of
    the `rows` of a head or, in decode, of a sequence; plain: numpy's own o."""
    first = next(iter(results.values()))
    exact, ratio, picture = first.judged.exact, first.judged.ratio, (len(first.o), -1, *first.o.shape[-2:])
    compared = ways({where: result.o for where, result in results.items()}, exact, plain, f"numpy {plain.dtype}")
    error = np.abs(first.o.astype(np.float64) - exact)
    return Judgement(first.error, error.reshape(picture), ratio.reshape(picture), rows, compared)


def makers(probed: Any, plain: Any) -> dict[str, list[int]]:
    """The lines that compute m, l and rescale, and o: those that scale the output row, where they are to be found."""
    found = dataflow.makers(probed, plain)
    scaling = dataflow.scaled_by(plain, found["rescale"])
    known = {line for lines in found.values() for line in lines}
    return {**found, "o": [line for line in scaling if line not in known]} if scaling else found


def tile_kinds(kinds: Any, tile: tuple[int, int]) -> dict[str, Any]:
    """{rows, keys, lines}: tiles of so many rows and keys, for each tile of rows a digit for every tile of keys: 0 it
    is skipped, 1 seen in part, 2 seen by all of its rows."""
    lines = ["".join(map(str, line)) for line in np.atleast_2d(kinds).tolist()]
    return {"rows": tile[0], "keys": tile[1], "lines": lines}


def nothing(why: str, mods: Mapping[str, Any], head: int) -> str:
    """What the state of a row without keys says."""
    sinks = mods.get("sinks")
    return f"Nothing to sum: {why}, so O = 0 and LSE = {'−∞' if sinks is None else f'the sink, {sinks[head]:g}'}."


def series(state: Any) -> dict[str, list[float | None]]:
    """m, l and rescale of a state `[tiles, 3]` as lists."""
    return {name: [finite(x) for x in state[:, i]] for i, name in enumerate(("m", "l", "rescale"))}


def finite(x: Any) -> float | None:
    """A number for the plots: None where it is not finite."""
    value = float(x)
    return value if np.isfinite(value) else None
