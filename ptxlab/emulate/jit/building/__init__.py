"""A program's module and the rules that it calls, built or loaded from the cache."""
