"""Rules, written once: checks, counters, mbarriers, copies, whose turn it is in a diverged warp, for both engines; the
memory look-up and the scheduler of the JIT; faults and findings in words."""
