"""Attention in one call: prefill, decode, merging, the cache of keys, and kernels side by side."""
