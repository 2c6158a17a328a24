"""LLVM IR as text: values of 32 lanes, operations on them, and what takes text apart or puts vectors together."""
