"""The interpreter: numpy, one warp-instruction at a time, everything observable. It defines the emulator."""
