"""The hash function that names and seals entries of the cache."""

from __future__ import annotations

import functools

try:
    from _blake2 import blake2b  # `hashlib` has it, too, but loads OpenSSL for the others: a tenth of a first launch
except ImportError:
    from hashlib import blake2b

SIZE = 32
"""Bytes of a digest."""
digest_of = functools.partial(blake2b, digest_size=SIZE)
