"""A model of the time that a kernel takes on a GPU, made of what the emulator counted."""
