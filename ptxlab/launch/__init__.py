"""Launching a kernel on any machine: its arguments, its buffers, what its text says of it, and graphs of launches."""
