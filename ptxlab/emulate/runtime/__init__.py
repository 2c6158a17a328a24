"""What surrounds a launch on either engine: device memory, what goes in and comes out, faults, progress, `printf`."""
