"""Instruments of a build, which observe compiled code: counters and traces."""
