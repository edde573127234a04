"""The files of the paper part_name: settings, claims and scale are valid and fit together."""

from pathlib import Path

from rbmbench.config.loading import load
from rbmbench.planning.plan import plan
from rbmbench.reporting.claims import files

FOLDER = Path(__file__).parent


def test_settings_claims_and_scale_fit_together():
    configuration = load([FOLDER / "part_name.yaml"])
    files.check(FOLDER / "claims", configuration)
    planned = plan(configuration)
    assert set(planned.outputs) == {"part_name_fig1", "part_name_table1"}
    assert {run.settings.trials for run in planned.of_kind("train").values()} == {4, 1}
