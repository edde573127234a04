# SPDX-License-Identifier: BSD-3-Clause
"""The workflow in odd surroundings: no home, a link to a folder that is not there, an unknown backend."""

from pathlib import Path

import pytest
from tiny_paper import FILES


@pytest.mark.slow
def test_a_figure_is_made_without_a_home_behind_a_link_and_with_an_unknown_backend(tiny, tmp_path, monkeypatch):
    # /proc holds no folder of anybody, not even of root.
    for name, value in {"HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none", "MPLBACKEND": "nonsense"}.items():
        monkeypatch.setenv(name, value)
    target = tmp_path / "another" / "disk"
    (tiny.folder / "results").symlink_to(target)
    output = tiny.snakemake("tiny_fig1", *FILES)
    assert output.count("warning: cache folder: /proc/none: cannot be written") == 1
    assert "Traceback" not in output
    assert (target / "tiny" / "figures" / "tiny_fig1.png").is_file()


def test_a_link_that_leads_nowhere_is_one_line(tiny):
    (tiny.folder / "results").symlink_to("/proc/none/results")
    output = tiny.snakemake("--dry-run", "tiny_fig1", *FILES, code=2)
    assert "Traceback" not in output
    link = Path(tiny.folder, "results")
    assert f"error: results/tiny: cannot be written ({link} is a link to /proc/none/results, which cannot be" in output
