"""The names of `import ptxlab as pl` are all there."""

from __future__ import annotations

import pytest

import ptxlab as pl


@pytest.mark.parametrize("name", pl.__all__)
def test_every_public_name_is_there(name):
    assert getattr(pl, name) is not None
    assert name in dir(pl)


def test_an_unknown_name():
    with pytest.raises(AttributeError) as caught:
        _ = pl.lunch
    assert str(caught.value) == "module 'ptxlab' has no attribute 'lunch'; did you mean launch?"
