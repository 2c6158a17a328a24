"""The stepping engine: numpy, one warp-instruction at a time, everything observable. It defines the machine."""
