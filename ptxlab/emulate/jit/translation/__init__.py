"""Rules to LLVM: the translator and its parts, and how emitted code calls rules."""
