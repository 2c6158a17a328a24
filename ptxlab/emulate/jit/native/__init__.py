"""LLVM IR to machine code, in a thread of LLVM's own, cached on disk."""
