"""What the notebook's ■ (Kernel > Interrupt) ends besides a cell: work in threads that goes on after its cell.

Between two cells ipykernel ignores SIGINT. `on_interrupt` has it heard of then, too; while a cell runs, the interrupt
is that cell's, as ever.
"""

from __future__ import annotations

import signal
import threading
import weakref
from typing import Any

from IPython.core.getipython import get_ipython

_ended: weakref.WeakSet[Any] = weakref.WeakSet()


def on_interrupt(work: Any) -> None:
    """From now on, and as long as it lives, the work is cancelled by an interrupt that comes while no cell runs: by its
    `cancel`, which does nothing while there is none."""
    _ended.add(work)
    kernel: Any = getattr(get_ipython(), "kernel", None)
    # What the kernel has kept here is in place again when the cell that now runs has ended.
    if getattr(kernel, "saved_sigint_handler", None) is signal.SIG_IGN:
        kernel.saved_sigint_handler = _interrupted


def _interrupted(*_: Any) -> None:
    """The handler of SIGINT between two cells."""
    # Not here: this may have come between any two instructions of who holds a lock that a cancellation needs.
    threading.Thread(target=cancel_all, name="ptxlab-interrupt", daemon=True).start()


def cancel_all() -> None:
    """Cancels all work that is there."""
    for work in tuple(_ended):
        work.cancel()
