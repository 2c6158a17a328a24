"""Traces: the steps of chosen warps, recorded while a launch runs, and read back in both directions."""
