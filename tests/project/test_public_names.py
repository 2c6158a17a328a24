"""The names of `import ptxlab as pl`: all there, loaded when first used, and not hidden by the modules they live in."""

from __future__ import annotations

import importlib
import types

import pytest

import ptxlab as pl


@pytest.mark.parametrize("name", pl.__all__)
def test_every_public_name_is_there(name):
    assert getattr(pl, name) is not None
    assert name in dir(pl)


def test_functions_stay_functions_when_their_modules_are_imported():
    for name, home in (("launch", "launch"), ("attention", "attention"), ("decode", "attention.decode")):
        module = importlib.import_module(f"ptxlab.{home}")
        assert isinstance(module, types.ModuleType)
        assert isinstance(getattr(pl, name), types.FunctionType)


def test_an_unknown_name():
    with pytest.raises(AttributeError) as caught:
        _ = pl.lunch
    assert str(caught.value) == "module 'ptxlab' has no attribute 'lunch'; did you mean launch?"
