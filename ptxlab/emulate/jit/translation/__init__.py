"""Rules to LLVM: the translator and its parts, and the object code of rules, built once and cached."""
