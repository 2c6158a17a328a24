"""Atomic operations: of one lane, of all lanes in order, on a row, and as one sum."""
