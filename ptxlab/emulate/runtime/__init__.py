"""What a launch needs on either engine: device memory, arguments and report, counters, progress, `printf`."""
