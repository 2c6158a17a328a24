"""What observes compiled code: the instruments of a build, counters and traces."""
