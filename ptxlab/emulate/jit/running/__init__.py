"""A launch while it runs: workers and their threads, memory of the checks, faults, calls back into Python."""
