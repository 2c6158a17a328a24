"""From the tree of a module to a flat program that both engines run: registers, symbols, blocks, calls."""
