"""Loads and stores: checked addresses, contiguous accesses, gathers and scatters, local memory."""
