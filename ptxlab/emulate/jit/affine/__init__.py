"""Values whose lanes differ by constants, or by multiples of one scalar: one scalar stands for all 32 lanes."""
