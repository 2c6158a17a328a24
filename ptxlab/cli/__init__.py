"""The `ptxlab` command, a file for each of its larger subcommands."""
