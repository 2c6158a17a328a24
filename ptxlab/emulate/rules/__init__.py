"""What the checks and counters know, said once for both engines: races, barriers, mbarriers, the memory system."""
