"""Laws hold in every way in which products with binary states are made."""

import pytest

from rbmbench.kernels import ways


@pytest.fixture(autouse=True, params=["library", "tables"])
def way(request):
    """All products are made in this way, whatever their shape."""
    with ways.by_hand(request.param):
        yield request.param
