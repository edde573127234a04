# SPDX-License-Identifier: BSD-3-Clause
"""The workflow without a home, with links to missing folders, and with an unknown backend of matplotlib."""

from pathlib import Path

import pytest
from tiny_paper import FILES


@pytest.mark.slow
def test_figure_without_home_behind_a_link_with_unknown_backend(tiny, tmp_path, monkeypatch):
    # Folders in /proc cannot be created, not even by root.
    for name, value in {"HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none", "MPLBACKEND": "nonsense"}.items():
        monkeypatch.setenv(name, value)
    target = tmp_path / "another" / "disk"
    (tiny.folder / "results").symlink_to(target)
    output = tiny.snakemake("tiny_fig1", *FILES)
    assert output.count("warning: cache folder: /proc/none: cannot be written") == 1
    assert "Traceback" not in output
    assert (target / "tiny" / "figures" / "tiny_fig1.png").is_file()


def test_a_link_to_a_missing_folder_raises_a_one_line_error(tiny):
    (tiny.folder / "results").symlink_to("/proc/none/results")
    output = tiny.snakemake("--dry-run", "tiny_fig1", *FILES, code=2)
    assert "Traceback" not in output
    link = Path(tiny.folder, "results")
    assert f"error: results/tiny: cannot be written ({link} is a link to /proc/none/results, which cannot be" in output


@pytest.mark.parametrize("name", ["BACKEND", "CHECKPOINT_SECONDS", "FUSED", "PRODUCTS"])
def test_a_wrong_variable_starts_no_job(tiny, monkeypatch, name):
    # The fingerprints of code that cannot be probed are unknown: finished jobs would run again, and fail.
    monkeypatch.setenv(f"RBMBENCH_{name}", "wrong")
    output = tiny.snakemake("--dry-run", "tiny_fig1", *FILES, code=2)
    assert f"rbmbench: error: RBMBENCH_{name}: must be " in output
    assert "Traceback" not in output
