"""The builder under its former name, which goes with the next version: `ptxlab.build` is `ptxlab.builder` now."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings

from ptxlab import builder
from ptxlab.builder import *  # noqa: F403

warnings.warn(
    "ptxlab.build is called ptxlab.builder now: write `from ptxlab.builder import ...`",
    DeprecationWarning,
    stacklevel=2,
)
__all__ = list(builder.__all__)
for _module in pkgutil.iter_modules(builder.__path__):  # `import ptxlab.build.flow` gives the same module, not a twin
    sys.modules[f"{__name__}.{_module.name}"] = importlib.import_module(f"{builder.__name__}.{_module.name}")
