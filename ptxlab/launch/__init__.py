"""Launching a kernel on any machine: its arguments, buffers, the plan made from its text, and graphs of launches."""
