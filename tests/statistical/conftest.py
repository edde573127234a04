# SPDX-License-Identifier: BSD-3-Clause
"""Laws hold in every way in which products with binary states are made."""

import pytest


@pytest.fixture(autouse=True)
def in_every_way(way):
    """Run each test once for each way."""
