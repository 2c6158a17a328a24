"""The bodies of all actions that have one: a file for each effect, which registers itself (see `body`)."""

from __future__ import annotations

import importlib
import pkgutil

from ptxlab.emulate.jit.bodies.body import Bodies, all_rules

__all__ = ["Bodies", "all_rules"]

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")
