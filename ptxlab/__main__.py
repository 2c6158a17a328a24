"""`python -m ptxlab` is the `ptxlab` command."""

from ptxlab.cli.main import main

raise SystemExit(main())
