"""What `ptxlab` says of a command that is called in a wrong way."""

from __future__ import annotations

import argparse


class Parser(argparse.ArgumentParser):
    """A parser whose usage is one line; `--help` has the options."""

    def format_usage(self) -> str:
        """`usage: ptxlab static [OPTION ...] FILE|KERNEL`."""
        formatter = self._get_formatter()
        formatter.add_usage(None, [action for action in self._actions if not action.option_strings], [])
        return formatter.format_help().replace(self.prog, f"{self.prog} [OPTION ...]", 1)
