"""The yardstick: kernels as people write them, each beside the same algorithm as plain serial C.

A file per family. A kernel is CUDA C++ and a C function of the same name and arguments; both must leave the same values
in the arrays they write, else nothing is timed. `python -m benchmarks.kernels` runs all and prints the table.
"""
