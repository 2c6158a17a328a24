"""`sweep`: goes through the points, keeps what was measured, and gives a table."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ptxlab import options
from ptxlab.errors import LaunchError, optional
from ptxlab.launch.buffers import memory_of
from ptxlab.launch.options import check_names
from ptxlab.launch.run import ALL_CHECKS
from ptxlab.options import complete
from ptxlab.sweeps import journal
from ptxlab.sweeps.measure import COLUMNS
from ptxlab.sweeps.plan import Refusals, Shape, Written, parameters_of, points
from ptxlab.sweeps.workers import in_processes, on_dask

Row = dict[str, Any]
EXTRA = "'ptxlab[scale]'"


def table_packages() -> tuple[Any, Any]:
    """pyarrow and its part for Parquet; `UnavailableError` where they, or pandas, are missing."""
    optional("pandas", "the table needs pandas", EXTRA)
    return tuple(optional(name, "a table on disk needs pyarrow", EXTRA) for name in ("pyarrow", "pyarrow.parquet"))


class Sweep:
    """What was measured: rows, from memory or from the folder they were written to; and what was not legal.

    `interrupted` is true where the sweep was stopped before its end: the same call with the same `out` goes on.
    """

    def __init__(self, folder: Path | None, rows: list[Row], refused: Refusals, wanted: set[str] | None) -> None:
        self.folder, self.refused, self.interrupted = folder, refused, False
        self._rows, self._wanted = rows, wanted

    def rows(self) -> Iterator[Row]:
        """The rows as plain data, in the order in which they came; see `COLUMNS`."""
        found = journal.read(self.folder) if self.folder is not None else iter(self._rows)
        return (row for row in found if self._wanted is None or row["key"] in self._wanted)

    @property
    def table(self) -> Any:
        """The rows as a pandas table, sorted by kernel, shape and parameters; `UnavailableError` without pandas."""
        pandas = optional("pandas", "the table needs pandas", EXTRA)
        rows = list(self.rows())
        names = _columns(rows)
        table = pandas.DataFrame(rows, columns=names).convert_dtypes()
        order = [name for name in names if name not in ("key", "reason", "device", "build_s", "spent_s")]
        return table.sort_values(order, ignore_index=True)

    def save(self, path: str | Path | None = None) -> Path:
        """Writes the table as Parquet, to a file or to `table.parquet` in the sweep's folder. Needs pandas and pyarrow.

        The columns are those of `ptxlab.sweeps.measure.COLUMNS`, which also stand in the file's metadata with what they
        say, and the parameters of the grid.
        """
        pyarrow, parquet = table_packages()
        if path is None and self.folder is None:
            raise LaunchError('save: expected a path; write:  sweep.save("sweep.parquet")')
        place = Path(path) if path is not None else Path(self.folder or "") / journal.TABLE
        table = pyarrow.Table.from_pandas(self.table, preserve_index=False)
        about = {name: says for name, (_, says) in COLUMNS.items()}
        fields = [
            pyarrow.field(field.name, field.type, metadata={"says": about.get(field.name, "a parameter of the grid")})
            for field in table.schema
        ]
        fresh = place.with_suffix(".part")
        parquet.write_table(table.cast(pyarrow.schema(fields)), fresh)
        os.replace(fresh, place)
        return place

    def __len__(self) -> int:
        return sum(1 for _ in self.rows())

    def __repr__(self) -> str:
        status = Counter(str(row["status"]) for row in self.rows())
        found = ", ".join(f"{count} {name}" for name, count in status.most_common()) or "nothing measured yet"
        out = f"<Sweep: {found}; {self.refused.total} combinations are not legal"
        return out + (f"; in {self.folder}" if self.folder else "") + ("; interrupted>" if self.interrupted else ">")


@complete("pl.sweep('tiled2d', {'tile_kv': [16, 32]}, shapes=[64])")
def sweep(
    kernels: str | Written | Iterable[str | Written],
    grid: Mapping[str, Any] | None = None,
    shapes: Any = (256,),
    *,
    device: str = "cpu",
    client: Any = None,
    out: str | Path | None = None,
    checks: Sequence[str] = (),
    seed: int = 0,
    workers: int | None = None,
    progress: bool = True,
    on_row: Callable[[Row], None] | None = None,
) -> Sweep:
    """Measures every legal combination of kernels, parameters and problems.

    Ctrl-C ends it and returns what is there, `interrupted`. A point that fails is a row with its reason.

    Parameters
    ----------
    kernels
        Names of the library, or `Written` for kernels of your own.
    grid
        Values for build parameters (`pl.kernels.get(name).parameters`), and `splits` for decode; a kernel without such
        a parameter takes part once.
    shapes
        Lengths, `Shape`s, or mappings with the fields of a `Shape`.
    device
        "cpu", "step", "gpu" or "auto".
    client
        A `dask.distributed.Client`; without one, processes of this machine measure.
    out
        A folder: every row is written there when it is measured, and a later call measures only what is missing.
    checks
        As for `pl.launch`; findings are a status of a row.
    seed
        Of the inputs, which are the same for every kernel.
    workers
        How many processes, by default one for each core (one in all for a GPU).
    progress
        Whether to show a bar.
    on_row
        Called with each new row.

    Returns
    -------
    Sweep
        Its rows; `pl.plot_sweep` draws them.

    Raises
    ------
    LaunchError
        For kernels, parameters and shapes that there are not.
    """
    from ptxlab import kernels as library

    chosen = [kernels] if isinstance(kernels, str | Written) else options.several(kernels)
    if chosen is None:
        raise LaunchError(f"kernels: expected names of kernels of the library, got {options.shown(kernels)}")
    for kernel in chosen:
        if isinstance(kernel, str):
            library.get(kernel)
    values = {name: _several(name, value) for name, value in (grid or {}).items()}
    problems = [Shape.of(value) for value in _several("shapes", shapes)]
    device = memory_of(device) if device == "auto" else device
    memory_of(device)
    how = {"device": device, "checks": list(check_names(checks, ALL_CHECKS)), "seed": options.whole("seed", seed, 0)}
    refused = Refusals()
    every = points(chosen, values, problems, how, refused)
    count = (
        options.whole("workers", workers, 1) if workers is not None else 1 if device == "gpu" else os.cpu_count() or 1
    )
    book = journal.Journal(Path(out)) if out is not None else None
    rows: list[Row] = []
    wanted: set[str] = set()
    result = Sweep(Path(out) if out is not None else None, rows, refused, wanted)

    def missing() -> Iterator[tuple[str, dict[str, Any]]]:
        for point in every:
            if point.key not in wanted:
                wanted.add(point.key)
                if book is None or point.key not in book.known:
                    yield point.key, point.task()
                else:
                    bar.update()
        _of(bar, len(wanted))  # illegal combinations are none of them

    with contextlib.ExitStack() as stack:
        if book is not None:
            stack.callback(book.close)
        bar = stack.enter_context(_bar(progress, _most(chosen, values, problems)))
        todo = missing()
        found = on_dask(todo, client, gpu=device == "gpu") if client is not None else in_processes(todo, count)
        stack.callback(found.close)
        try:
            for key, row in found:
                row = {"key": key} | row
                if book is not None:
                    book.add(row)
                else:
                    rows.append(row)
                bar.update()
                bar.set_postfix_str(f"{row['kernel']}: {row['status']}", refresh=False)
                if on_row is not None:
                    on_row(row)
        except KeyboardInterrupt:
            result.interrupted = True
    return result


@complete()
def open_sweep(folder: str | Path) -> Sweep:
    """Opens a sweep, finished or not.

    Parameters
    ----------
    folder
        Which `pl.sweep(out=...)` wrote.
    """
    next(journal.read(Path(folder)), None)
    return Sweep(Path(folder), [], Refusals(), None)


def _several(name: str, value: Any) -> list[Any]:
    """The values of a parameter: those of a list, or the one."""
    found = options.several(value)
    if found == []:
        raise LaunchError(f"{name}: expected at least one value")
    return [value] if found is None else found


def _most(chosen: Sequence[Any], grid: Mapping[str, Sequence[Any]], shapes: Sequence[Shape]) -> int:
    """How many points there are at most."""
    total = 0
    for kernel in chosen:
        has, each = parameters_of(kernel), len(shapes)
        for name, values in grid.items():
            each *= len(values) if name in has else 1
        total += each
    return total


def _bar(shown: bool, total: int) -> Any:
    """A progress bar, in a notebook or a terminal."""
    from tqdm.auto import tqdm

    return tqdm(total=total, disable=not shown, unit="point", smoothing=0.1)


def _of(bar: Any, total: int) -> None:
    """Gives a progress bar under way another total; in a notebook only `reset` reaches the widget."""
    if not bar.disable:
        done, start = bar.n, bar.start_t
        bar.reset(total=total)
        bar.n, bar.start_t = done, start
        bar.refresh()


def _columns(rows: Sequence[Row]) -> list[str]:
    """The names of a table's columns in order: those of `COLUMNS`, the parameters of the grid in between."""
    known = list(COLUMNS)
    more = dict.fromkeys(name for row in rows for name in row if name not in COLUMNS)
    at = known.index("device")
    return [*known[:at], *more, *known[at:]]
