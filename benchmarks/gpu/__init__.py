"""Everything that wants a GPU, in one command: `python -m benchmarks.gpu` (see `__main__`, and docs/gpu.md)."""
