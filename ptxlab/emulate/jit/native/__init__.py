"""LLVM IR to machine code, by llvmlite in a thread of its own."""
