"""The base of all that emits code: text, lanes, the active mask, registers, operands, faults, hooks for instruments."""
