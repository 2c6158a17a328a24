"""The rules of checks and counters, written once for both engines: races, barriers, mbarriers, the memory system."""
