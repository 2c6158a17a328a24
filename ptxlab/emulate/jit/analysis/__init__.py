"""What is found out about a program before code is emitted: uniform, affine and aligned registers, divergence."""
