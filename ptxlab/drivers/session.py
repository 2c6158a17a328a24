"""What the sessions of all languages share: their launches and findings, and what stands in the driver's place."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from ptxlab.errors import LaunchError
from ptxlab.findings import Finding
from ptxlab.launch.run import Run, launch


class MachineSession(abc.ABC):
    """The emulator in place of a GPU under a language, from `__enter__` to `__exit__`.

    `runs` holds the `Run` of each launch; `findings` what the checks noticed in all of them. options: of `pl.launch`,
    for each launch.
    """

    LANGUAGE: ClassVar[str]

    def __init__(self, *, arch: str = "sm_80", device: str = "cpu", **options: Any) -> None:
        if device not in ("cpu", "step"):
            raise LaunchError(
                f"device is 'cpu' or 'step', not {device!r}; on a GPU {self.LANGUAGE} runs without ptxlab"
            )
        self.arch, self.device, self.options = arch, device, options
        self.runs: list[Run] = []
        self.launcher: Callable[..., Run] = launch
        """What runs a kernel: `pl.launch`, or what a test puts around it."""
        self._stack = contextlib.ExitStack()

    @property
    def findings(self) -> list[Finding]:
        """What the checks noticed, launch by launch."""
        return [finding for run in self.runs for finding in run.findings]

    @abc.abstractmethod
    def __enter__(self) -> Any:
        """Puts the machine into the driver's place; `_stack` takes it out again."""

    def __exit__(self, *error: object) -> None:
        self._stack.close()


S = TypeVar("S", bound=MachineSession)


class Switch(Generic[S]):
    """`activate` and `deactivate`: a session for the rest of the process."""

    def __init__(self, kind: type[S]) -> None:
        self._kind = kind
        self._session: S | None = None

    def activate(self, *, arch: str = "sm_80", device: str = "cpu", **options: Any) -> S:
        """Runs the language's kernels on the emulator from now on; a second call replaces the options."""
        self.deactivate()
        session = self._kind(arch=arch, device=device, **options)
        session.__enter__()
        self._session = session
        return session

    def deactivate(self) -> None:
        """Gives the language its driver back."""
        if self._session is not None:
            self._session.__exit__(None, None, None)
            self._session = None
