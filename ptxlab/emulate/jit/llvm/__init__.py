"""LLVM IR as text: the builder of a function, values of 32 lanes, operations on them, fragments of matrices."""
