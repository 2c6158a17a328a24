"""The emitter and its parts: registers, operands, the active mask, stops, and instructions that compute."""
