"""What is found out about a program before code is emitted: uniform and affine registers, bounds, divergence."""
