"""The names of `import ptxlab as pl` are all there."""

from __future__ import annotations

import pytest

import ptxlab as pl


@pytest.mark.parametrize("name", pl.__all__)
def test_every_public_name_is_there(name):
    assert getattr(pl, name) is not None
    assert name in dir(pl)


def test_an_unknown_name():
    for name, meant in (
        ("lunch", "; did you mean launch?"),
        ("kernel", "\n  write:  from ptxlab.builder import kernel"),
    ):
        with pytest.raises(AttributeError) as caught:
            getattr(pl, name)
        assert str(caught.value) == f"module 'ptxlab' has no attribute {name!r}{meant}"
