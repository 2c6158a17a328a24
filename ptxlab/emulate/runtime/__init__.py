"""Support for a launch on either engine: device memory, arguments and report, counters, progress, `printf`."""
