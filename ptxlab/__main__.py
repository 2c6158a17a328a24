"""`python -m ptxlab` is the `ptxlab` command."""

from ptxlab.cli import main

raise SystemExit(main())
