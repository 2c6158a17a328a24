"""The parts of `ptxlab.emulate.jit.translator`: kinds of values, constants, conversions, expressions, intrinsics."""
