"""Matrices in registers and memory: fragments, operands as products read them, products as LLVM functions."""
