"""What all that emits code shares: text, lanes, the active mask, registers, operands, faults, hooks for instruments."""
