"""part_name: properties of its rows."""

from pathlib import Path

import numpy as np
import pytest

import rbmbench
from rbmbench.base.errors import SettingsError

rbmbench.load_plugins(Path(__file__).with_name("part_name.py"))


def test_rows_are_their_own_mirror_image_each_once():
    rows = rbmbench.datasets.load("part_name", half=5).train
    assert rows.shape == (2**5, 2 * 5)
    assert set(np.unique(rows)) == {0, 1}
    assert np.array_equal(rows, rows[:, ::-1])
    assert len(np.unique(rows, axis=0)) == 2**5


def test_equal_options_give_equal_rows_and_others_do_not():
    first, again, other = (rbmbench.datasets.load("part_name", half=half).provenance for half in (3, 3, 4))
    assert first["content_sha256"] == again["content_sha256"] != other["content_sha256"]


@pytest.mark.parametrize("half", [1, 13, 2.5, True])
def test_options_that_are_not_allowed_are_refused(half):
    with pytest.raises(SettingsError, match=r"option 'half': must be a whole number from 2 to 12"):
        rbmbench.datasets.load("part_name", half=half)
