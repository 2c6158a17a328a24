"""Blocks and control flow: the functions for converged and diverged warps, regions, segments, the loop over warps."""
