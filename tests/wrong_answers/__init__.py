"""Typical wrong answers, a module for each notebook: `WRONG`, exercise -> ((code, phrase of the feedback), ...)."""
