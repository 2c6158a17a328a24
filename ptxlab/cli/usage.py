"""What `ptxlab` says of a command that is called in a wrong way."""

from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def plain_warnings() -> Iterator[None]:
    """Warnings without the line of Python, which is not the user's."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: print(f"ptxlab: warning: {message}", file=sys.stderr)
        yield


class Parser(argparse.ArgumentParser):
    """A parser whose usage is one line, which `--help` adds the options to, and that says which command is meant."""

    commands: Any = None

    def format_usage(self) -> str:
        """`usage: ptxlab static [OPTION ...] FILE|KERNEL`."""
        formatter = self._get_formatter()
        formatter.add_usage(None, [action for action in self._actions if not action.option_strings], [])
        return formatter.format_help().replace(self.prog, f"{self.prog} [OPTION ...]", 1)

    def add_subparsers(self, **options: Any) -> argparse._SubParsersAction[argparse.ArgumentParser]:  # type: ignore[override]
        """As argparse does."""
        self.commands = made = super().add_subparsers(**options)
        return made

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does, but for a command that there is not."""
        named = next((word for word in (sys.argv[1:] if args is None else args) if not word.startswith("-")), "")
        if named and self.commands is not None and named not in self.commands.choices:
            self.error(f"there is no command {named!r}{_meant(named, self.commands.choices)}")
        return super().parse_known_args(args, namespace)


def _meant(word: str, commands: Any) -> str:
    """The command that is meant: another spelling, or that for a file or a kernel of the library."""
    from ptxlab import kernels  # here, as only mistakes need them
    from ptxlab.cli.run import names_file
    from ptxlab.options import meant

    if word in ("help", "version"):
        return f"\n  write:  ptxlab --{word}"
    if "run" in commands and (word in kernels.names() or names_file(word)):
        return f"\n  write:  ptxlab run {word}"
    return meant(word, commands) or f"; choose from {', '.join(commands)}"
