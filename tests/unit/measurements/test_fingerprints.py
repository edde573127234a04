# SPDX-License-Identifier: BSD-3-Clause
"""Fingerprints change if code computes something else, and only then."""

import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

from rbmbench import estimators, samplers, updates
from rbmbench.base import plugins, sources
from rbmbench.base.settings import (
    AnnealingSettings,
    Bracket,
    CouplingSettings,
    GroundTruthSettings,
    RunSettings,
    SamplingSettings,
    Tempering,
)
from rbmbench.datasets import REGISTRY
from rbmbench.estimators.cd import CD
from rbmbench.jobs import fingerprints, probes
from rbmbench.jobs.fingerprints import fingerprint, recipe_fingerprint
from rbmbench.kernels import reference_kernels


@pytest.fixture(autouse=True)
def empty_caches(monkeypatch, tmp_path):
    """Clear all caches of fingerprints."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    caches = fingerprints._known, fingerprints._file
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def run(estimator: str = "cd", update: str = "sgd", **settings) -> RunSettings:
    stage = {"until": 5000, "estimator": {"name": estimator}, "update": {"name": update}, "rate": 0.01}
    values = {"data": {"name": "mnist"}, "hidden": 17, "batch": 500, "schedule": [stage]}
    return RunSettings.model_validate(values | settings)


def computed(settings=None) -> str:
    """Return the fingerprint of the code, without caches."""
    fingerprints._known().clear()
    shutil.rmtree(fingerprints._file().parent, ignore_errors=True)
    return fingerprint(settings or run(), 784)


@pytest.mark.parametrize(("kind", "registry"), [("estimator", estimators.REGISTRY), ("update", updates.REGISTRY)])
def test_every_estimator_and_update_rule_has_its_own_fingerprint(kind, registry):
    digests = {fingerprint(run(**{kind: name}), 784) for name in registry.names()}
    assert len(digests) == len(registry.names())
    assert fingerprints.UNKNOWN not in digests


def test_every_sampler_has_its_own_fingerprint():
    names = samplers.REGISTRY.names()
    digests = {fingerprint(SamplingSettings(samplers={"it": {"name": name}})) for name in names}
    assert len(digests) == len(names)
    assert fingerprints.UNKNOWN not in digests


@pytest.mark.parametrize(
    "settings",
    [
        AnnealingSettings(),
        AnnealingSettings(tempering=Tempering(), compared=5),
        AnnealingSettings(bracket=Bracket(), spacing="dense"),
        GroundTruthSettings(method="exact"),
        GroundTruthSettings(method="parallel_tempering"),
        CouplingSettings(visible=101, hidden=103, coupling="rbm"),
        run("ucd", proxy={"chains": 30}, test_likelihood=True),
        run("pcd", hidden=500, initial={"biases": "base_rate"}),
    ],
    ids=lambda settings: type(settings).__name__,
)
def test_kernels_that_agree_have_the_fingerprint_of_the_reference(settings):
    digest = computed(settings)
    assert digest != fingerprints.UNKNOWN
    with reference_kernels():
        assert computed(settings) == digest


def test_fingerprint_does_not_depend_on_seeds_sizes_and_rates():
    other = run(hidden=19, batch=100, seed=3, evaluate_every=7, trials=11)
    assert computed(other) == computed()


def test_another_formula_changes_only_the_fingerprints_that_use_it(monkeypatch):
    before = computed(), computed(run("pop_cd"))
    negative_phase = CD.negative_phase

    def scaled(self, *arguments):
        population, state, diagnostics = negative_phase(self, *arguments)
        np.multiply(population.hidden, 1.001, out=population.hidden)
        return population, state, diagnostics

    monkeypatch.setattr(CD, "negative_phase", scaled)
    assert computed() not in (before[0], fingerprints.UNKNOWN)
    assert computed(run("pop_cd")) == before[1]


@pytest.mark.parametrize(("factor", "is_changed"), [(1 + 1e-7, False), (1.05, True)])
def test_another_compiled_kernel_changes_the_fingerprint(monkeypatch, factor, is_changed):
    kernels = pytest.importorskip("rbmbench.kernels.numba")
    before, kernel = computed(), kernels.bernoulli_mean

    def edited(activation, bias):
        kernel(activation, bias)
        np.multiply(activation, factor, out=activation)

    monkeypatch.setattr(kernels, "bernoulli_mean", edited)
    assert (computed() != before) == is_changed
    assert computed() != fingerprints.UNKNOWN


def test_fingerprint_of_an_estimator_with_an_error_is_unknown(monkeypatch):
    monkeypatch.setattr(CD, "negative_phase", None)
    assert computed() == fingerprints.UNKNOWN


def test_fingerprint_is_computed_once_for_unchanged_sources(monkeypatch):
    calls = []
    digest = fingerprint(run(), 784, lambda: calls.append("computing"))
    fingerprints._known.cache_clear()
    monkeypatch.setattr(probes, "behaviour", None)
    assert fingerprint(run(), 784, lambda: calls.append("again")) == digest
    assert calls == ["computing"]


def test_probe_ahead_computes_fingerprints_in_another_process(monkeypatch):
    jobs = [(run(estimator), 784) for estimator in ("cd", "pcd", "pop_cd")]
    expected = [computed(settings) for settings, _ in jobs]
    shutil.rmtree(fingerprints._file().parent)
    fingerprints._known().clear()
    fingerprints.probe_ahead(jobs)
    end = time.monotonic() + 120
    while len(fingerprints._kept()) < len(jobs):
        assert time.monotonic() < end
        time.sleep(0.05)
    monkeypatch.setattr(probes, "behaviour", None)
    assert [fingerprint(*job) for job in jobs] == expected


EDITED = """
import sys
sys.modules["numba"] = None  # whose kernels would have to be compiled for the copy
from pathlib import Path
from rbmbench.base.settings import RunSettings
from rbmbench.estimators import cd
from rbmbench.jobs import fingerprints, probes
if "edit" in sys.argv:
    file = Path("rbmbench/estimators/cd.py")  # of the copy
    file.write_text(file.read_text() + "CD.negative_phase = None")
stage = {"until": 5000, "estimator": {"name": "cd"}, "rate": 0.01}
print(fingerprints.fingerprint(RunSettings(data={"name": "mnist"}, hidden=17, batch=5, schedule=[stage]), 7))
"""


def test_fingerprints_of_code_edited_after_its_import_are_not_cached(tmp_path):
    shutil.copytree(sources.PACKAGE, tmp_path / "rbmbench", ignore=shutil.ignore_patterns("__pycache__"))

    def fingerprint_of(cache: str, *arguments: str) -> str:
        own = os.environ | {"PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / cache)}
        command = [sys.executable, "-c", EDITED, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True, check=True).stdout.strip()

    old = fingerprint_of("other")
    assert fingerprint_of("cache", "edit") == old  # of the imported code
    assert fingerprint_of("cache") == fingerprints.UNKNOWN


def edited_recipe(monkeypatch, name: str, old: str, new: str) -> str:
    """Return the fingerprint of MNIST after a change in a module of data sets."""
    path = f"datasets/{name}.py"
    source = sources.IMPORTED[path].decode()
    assert old in source
    monkeypatch.setitem(sources.IMPORTED, path, source.replace(old, new).encode())
    return recipe_fingerprint("mnist")


@pytest.mark.parametrize(
    ("name", "old", "new", "is_changed"),
    [
        ("mnist", "    def load(self", "    # A remark.\n\n    def load(self", False),
        ("mnist", "MNIST (LeCun", "A threshold = 3 (LeCun", False),
        ("mnist", "sources", "the_sources", True),
        ("mnist", "import REGISTRY, Dataset\n", "import (\n    REGISTRY,\n    Dataset,\n)\n", False),
        ("mnist", "from typing import Annotated", "import typing\nfrom typing import Annotated", False),
        ("mnist", "@REGISTRY.register", "if TYPE_CHECKING:\n    import numpy\n\n\n@REGISTRY.register", False),
        ("mnist", "@REGISTRY.register", "import numpy; numpy.seterr()\n@REGISTRY.register", True),
        ("_images", "return", "return 1 -", True),
        ("_images", "import numpy as np", "import numpy as np, json", False),
        ("_downloads", "import os", "import os, json", False),
        ("_downloads", "return", "return 1 -", False),
        ("diag", "return", "return 1 -", False),
    ],
)
def test_fingerprint_of_a_data_set_depends_on_its_code_and_readers(monkeypatch, name, old, new, is_changed):
    before = recipe_fingerprint("mnist")
    assert (edited_recipe(monkeypatch, name, old, new) != before) == is_changed


@pytest.mark.usefixtures("no_plugins")
def test_fingerprint_of_a_plugin_is_that_of_the_imported_code(tmp_path):
    file = tmp_path / "own_rows.py"
    text = "from rbmbench.datasets import REGISTRY, Recipe\n\n@REGISTRY.register\nclass Own(Recipe):\n    value = 1\n"
    file.write_text(text)
    plugins.load_plugins(file)
    before = recipe_fingerprint("own_rows"), plugins.plugin_of(REGISTRY.get("own_rows").__module__).sha256
    file.write_text(text.replace("1", "2"))
    assert before == (recipe_fingerprint("own_rows"), plugins.plugin_of(REGISTRY.get("own_rows").__module__).sha256)
