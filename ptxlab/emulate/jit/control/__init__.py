"""Blocks and control flow: the functions for converged and diverged warps, masked regions, the loop over warps."""
