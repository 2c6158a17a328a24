"""What the errors of building a kernel say, for tests that compare the whole message."""

from __future__ import annotations

from typing import Any

import pytest

from ptxlab.builder import KernelFunction
from ptxlab.errors import BuildError


def message(function: KernelFunction, **options: Any) -> str:
    """The error of building; the place is given as the line within the function, 1 being its `def`."""
    with pytest.raises(BuildError) as caught:
        function(**options)
    text = str(caught.value)
    code = function.function.__code__
    file, _, rest = text.partition(":")
    assert file == code.co_filename
    line, _, rest = rest.partition(":")
    return f"line {int(line) - code.co_firstlineno}:{rest}"


def lines(*text: str) -> str:
    """Lines, joined."""
    return "\n".join(text)
