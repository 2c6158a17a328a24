"""Analyses of a program before code is emitted: uniform and affine registers, bounds, divergence."""
