"""Loads and stores: checked addresses, rows, gathers and scatters, local memory."""
