"""What passes between the process of an answer and that of its grader: plain data as JSON, never pickled objects.

Numbers, text, bytes, None, lists, tuples, dicts, sets, ranges and numpy arrays arrive as they were sent; anything else
is refused by name. A message is four bytes with its length, then the JSON.
"""

from __future__ import annotations

import base64
import json
import math
import os
import select
import time
from typing import Any

import numpy as np

from ptxlab.errors import PtxlabError

LIMIT = 32 << 20
"""Bytes of the longest message."""
DEPTH = 40
"""How deep lists may lie in lists."""


class WireError(PtxlabError):
    """A value cannot be sent, or what arrived is not a message; the text says why."""


class Silence(WireError):
    """Nothing came in time."""


class Gone(WireError):
    """The other process has ended."""


def encode(value: Any, depth: int = 0) -> Any:
    """A value as JSON can hold it: what JSON has no word for becomes {"<type>": ...}."""
    if depth > DEPTH:
        raise WireError(f"a value is nested more than {DEPTH} deep")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, int) and not isinstance(value, np.generic):
        return int(value) if abs(value) < 1 << 256 else _refuse("an integer of more than 256 bits")
    if isinstance(value, float) and not isinstance(value, np.generic):
        return float(value) if math.isfinite(value) else {"<float>": repr(float(value))}
    if isinstance(value, bytes | bytearray):
        return {"<bytes>": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, list):
        return [encode(v, depth + 1) for v in value]
    for kind, name in ((tuple, "tuple"), (set, "set"), (frozenset, "set")):
        if isinstance(value, kind):
            return {f"<{name}>": [encode(v, depth + 1) for v in value]}
    if isinstance(value, range):
        return {"<range>": [value.start, value.stop, value.step]}
    if isinstance(value, dict):
        return {"<dict>": [[encode(k, depth + 1), encode(v, depth + 1)] for k, v in value.items()]}
    if isinstance(value, np.generic | np.ndarray):
        array = np.asarray(value)
        if array.dtype.hasobject or array.dtype.names:
            raise WireError(f"a numpy array of {array.dtype} cannot be sent")
        data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        return {"<array>": [array.dtype.name, list(array.shape), data, isinstance(value, np.generic)]}
    return _refuse(f"a {type(value).__name__}")


def _refuse(what: str) -> Any:
    raise WireError(f"{what} cannot be sent: numbers, text, lists, tuples, dicts, sets and numpy arrays can")


def decode(value: Any) -> Any:
    """The value that `encode` was given."""
    if isinstance(value, list):
        return [decode(v) for v in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise WireError("a message is not what it should be")
    kind, inner = next(iter(value.items()))
    if kind == "<float>":
        return float(inner)
    if kind == "<bytes>":
        return base64.b64decode(inner)
    if kind == "<tuple>":
        return tuple(decode(v) for v in inner)
    if kind == "<set>":
        return {decode(v) for v in inner}
    if kind == "<range>":
        return range(*inner)
    if kind == "<dict>":
        return {decode(k): decode(v) for k, v in inner}
    if kind == "<array>":
        return _array(*inner)
    raise WireError("a message is not what it should be")


def _array(name: str, shape: list[int], data: str, scalar: bool) -> Any:
    if name.startswith(("bfloat", "float8")):
        import ml_dtypes

        dtype = np.dtype(getattr(ml_dtypes, name))
    else:
        dtype = np.dtype(name)
    if dtype.hasobject:
        raise WireError("a message is not what it should be")
    array = np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()
    return array[()] if scalar else array


class Channel:
    """One end of a pair of pipes: messages go out through `write` and come in through `read` (file descriptors)."""

    def __init__(self, read: int, write: int) -> None:
        self.read, self.write = read, write

    def send(self, message: dict[str, Any]) -> None:
        """Sends a message; `Gone` where nobody listens any more."""
        raw = json.dumps(encode(message)).encode()
        if len(raw) > LIMIT:
            raise WireError(f"a message of {len(raw):,} bytes; at most {LIMIT:,} are sent")
        data = memoryview(len(raw).to_bytes(4, "little") + raw)
        try:
            while data:
                data = data[os.write(self.write, data) :]
        except OSError as error:
            raise Gone("the other process has ended") from error

    def receive(self, seconds: float | None = None) -> dict[str, Any]:
        """The next message; `Silence` if it is not there in time, `Gone` if the other process has ended."""
        end = None if seconds is None else time.monotonic() + seconds
        size = int.from_bytes(self._take(4, end), "little")
        if size > LIMIT:
            raise WireError(f"a message of {size:,} bytes; at most {LIMIT:,} are read")
        try:
            message = decode(json.loads(self._take(size, end)))
        except WireError:
            raise
        except Exception as error:  # whatever the bytes are, they are not a message
            raise WireError("a message is not what it should be") from error
        if not isinstance(message, dict):
            raise WireError("a message is not what it should be")
        return message

    def _take(self, size: int, end: float | None) -> bytes:
        parts, left = [], size
        while left:
            wait = None if end is None else max(0.0, end - time.monotonic())
            if not select.select([self.read], [], [], wait)[0]:
                raise Silence("no answer in time")
            part = os.read(self.read, min(left, 1 << 16))
            if not part:
                raise Gone("the other process has ended")
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
