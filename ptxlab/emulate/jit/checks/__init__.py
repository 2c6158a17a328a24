"""The checks in compiled code: memcheck's companions as instruments, which call rules."""
