# SPDX-License-Identifier: BSD-3-Clause
"""The subcommand ``doctor``: a report on this machine, and a training with a known result.

Modules are imported in the functions that use them, so that a broken one affects its section only.
"""

import json
import os
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from rbmbench.model.rbm import RBM
    from rbmbench.training.run import TrainingResult

OWN_VARIABLES = (
    "RBMBENCH_BACKEND", "RBMBENCH_CHECKPOINT_SECONDS", "RBMBENCH_DATA_CACHE", "RBMBENCH_DATA_MIRROR",
    "RBMBENCH_FUSED", "RBMBENCH_MESSAGES", "RBMBENCH_PLUGINS", "RBMBENCH_PRODUCTS",
)  # fmt: skip
MODELS = {"tiny": (16, 16, 32, 25), "large": (784, 500, 500, 1)}  # visible and hidden units, batch, trials
NOTEBOOKS = ("papermill", "nbconvert", "IPython")
TRAINED = {"cd": {}, "pop_cd": {}, "parallel_tempering": {"temperatures": 4}}
"""Estimators of the self-test, with their options."""
ROUNDING = 1e-11  # nats: sums of 47 terms of a few nats in float64, and of 128 states, are off by less
LEAST_BYTES = 2**30
OK, WARNING, FAILED = "ok", "warning", "FAILED"


class Finding(NamedTuple):
    """A line of the report: its subject, the result, and a state, empty for information."""

    subject: str
    result: str
    state: str = ""


def doctor(arguments: Namespace) -> int:
    """Print the report as tables or as JSON; return 1 if anything has failed, else 0."""
    from tabulate import tabulate

    places = arguments.mirror, arguments.cache
    examinations = {"Versions": versions, "Machine": hardware, "GPU": gpus, "Environment variables": environment}
    examinations |= {"Backend": backend, "Data sets": lambda: data_sets(*places)}
    examinations |= {"Folders": lambda: folders(arguments.results, *places)}
    examinations |= {"Self-test": self_test} if arguments.self_test else {}
    sections = {}
    for title, examine in examinations.items():
        sections[title] = findings = examined(title, examine)
        if not arguments.json:
            rows = [(finding.state, finding.subject, finding.result) for finding in findings]
            print(f"{title}\n{tabulate(rows, tablefmt='plain', disable_numparse=True)}", end="\n\n", flush=True)
    states = Counter(finding.state for findings in sections.values() for finding in findings)
    failed = FAILED in states
    verdict = f"{FAILED if failed else OK}: {states[OK]} good, warnings: {states[WARNING]}, failed: {states[FAILED]}"
    lines = {title: [finding._asdict() for finding in findings] for title, findings in sections.items()}
    report = {"failed": failed, "verdict": verdict, "sections": lines}
    print(json.dumps(report, indent=1, ensure_ascii=False) if arguments.json else verdict)
    return int(failed)


def examined(title: str, examine: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """Return the findings of a section; one failed finding if it raises an error."""
    try:
        return list(examine())
    except Exception as error:
        first, *_ = [*str(error).strip().splitlines(), ""]
        reason = f"{type(error).__name__}: {first}".removesuffix(": ")
        return [Finding(title, f"could not be examined ({reason})", FAILED)]


def versions() -> Iterator[Finding]:
    """Yield the versions of this package, with its commit, and of the packages it needs."""
    from rbmbench.io import provenance
    from rbmbench.kernels import is_installed

    packages, commit = {"rbmbench": "not installed: run from its source"} | provenance.versions(), provenance.commit()
    packages["rbmbench"] += f", commit {commit}" if commit else ""
    yield from map(Finding, packages, packages.values())
    if missing := [module for module in NOTEBOOKS if not is_installed(module)]:
        lacking = f"cannot run: {', '.join(missing)} not installed; the extra workflow has it"
        yield Finding("notebooks", lacking, WARNING)


def hardware() -> Iterator[Finding]:
    """Yield platform, processor, cores (that this process may use, and all) and memory."""
    import psutil

    from rbmbench.base.machine import usable_cores, usable_memory
    from rbmbench.io import provenance

    machine, usable, total = provenance.hardware(), usable_cores(), usable_memory()
    free = min(psutil.virtual_memory().available, total)
    yield Finding("system", machine["platform"])
    yield Finding("processor", machine["cpu"])
    yield Finding("cores", f"{usable} usable of {os.cpu_count()}")
    yield Finding("memory", f"{_gigabytes(free)} free of {_gigabytes(total)}")


def _gigabytes(count: int) -> str:
    return f"{count / 2**30:.1f} GB"


def gpus() -> Iterator[Finding]:
    """Yield every GPU that CuPy can use, or the reason why there is none."""
    from rbmbench.io import provenance
    from rbmbench.kernels import backends

    missing = backends.gpu_obstacle()
    if missing is None:
        runtime = backends.namespace("cupy").cuda.runtime
        for number in range(runtime.getDeviceCount()):
            device = runtime.getDeviceProperties(number)
            yield Finding(f"GPU {number}", f"{device['name'].decode()}, {_gigabytes(device['totalGlobalMem'])}")
    elif devices := provenance.gpu_names():
        advice = "install CuPy by the extra cuda12 or cuda13" if "not installed" in missing else "it is not used"
        yield Finding("GPU", f"{devices}, but {missing}: {advice}", WARNING)
    else:
        yield Finding("GPU", f"none: {missing}")


def environment() -> Iterator[Finding]:
    """Yield the variables of this package; unknown names with its prefix are a warning."""
    from rbmbench.datasets import without_credentials

    for name in sorted(name for name in os.environ if name.startswith("RBMBENCH_")):
        if name in OWN_VARIABLES:
            yield Finding(name, without_credentials(os.environ[name]))
        else:
            yield Finding(name, f"is not read by rbmbench; those are: {', '.join(OWN_VARIABLES)}", WARNING)
    yield Finding("not set", ", ".join(name for name in OWN_VARIABLES if name not in os.environ))


def backend() -> Iterator[Finding]:
    """Yield the choice of ``auto`` for a tiny and a large model, and the wrong values of the environment."""
    import numpy as np

    from rbmbench.base.errors import SettingsError
    from rbmbench.cli.computing import check_environment
    from rbmbench.kernels import backend_name, backends
    from rbmbench.training.timing import step_settings

    host_kernels = backend_name(np.empty(0))
    for kind, (visible, hidden, batch, trials) in MODELS.items():
        arrays, reason = backends.choose("auto", backends.work(step_settings(hidden, batch, trials=trials), visible))
        kernels = {"numpy": host_kernels}.get(arrays.__name__, arrays.__name__)
        subject = f"auto, {kind} model ({visible}x{hidden}, {trials} trial{'s' * (trials > 1)})"
        yield Finding(subject, f"{arrays.__name__} arrays, {kernels} kernels ({reason})")
    if host_kernels == "numpy":
        yield Finding("kernels of NumPy arrays", "the slow reference kernels: Numba cannot be imported", WARNING)
    try:
        check_environment()
        if requested := os.environ.get("RBMBENCH_BACKEND"):
            yield Finding("RBMBENCH_BACKEND", backends.choose(requested, 0.0).arrays.__name__)
    except SettingsError as error:
        yield Finding("environment", str(error), FAILED)


def data_sets(mirror: str | None, cache: str | None) -> Iterator[Finding]:
    """Yield the place of every published file of the data sets, none of which is downloaded."""
    from rbmbench.base.errors import DataError
    from rbmbench.datasets import Sources, file_status, without_credentials

    try:
        sources = Sources.resolve(mirror, cache)
    except DataError as error:
        yield Finding("mirror", str(error), FAILED)
        return
    yield Finding("mirror", without_credentials(sources.mirror) if sources.mirror else "none")
    yield Finding("cache", str(sources.cache or "none: the user has no home folder"))
    missing = []
    for file in file_status(sources):
        size = "size not published" if file.bytes is None else f"{file.bytes / 1e6:.1f} MB"
        if file.wrong:  # as for `load`: a wrong copy in a mirror is an error, one in the cache is replaced
            text, state = file.wrong, FAILED if file.origin == "mirror" else WARNING
        elif file.origin != "public":
            text, state = f"{file.origin}, {size}", OK
        else:
            text, state = f"would be downloaded, {size}", ""
            missing.append(file.bytes or 0)
        yield Finding(f"{file.data_set}: {file.name}", text, state)
    if missing:
        size = f"{len(missing)} files, {sum(missing) / 1e6:.1f} MB or more"
        yield Finding("downloads", f"{size}, need a network", WARNING)


def folders(results: Path, mirror: str | None, cache: str | None) -> Iterator[Finding]:
    """Yield whether results and downloads can be written, and the free space of their disks."""
    import shutil

    from rbmbench.base.errors import DataError, ResultsError
    from rbmbench.datasets import Sources
    from rbmbench.io.results import check_writable

    written = {"results": (results, FAILED)}
    with suppress(DataError):  # which is reported with the data sets
        if downloads := Sources.resolve(mirror, cache).cache:
            written["downloads"] = downloads, WARNING
    for subject, (folder, state_if_refused) in written.items():
        try:
            check_writable(folder)
        except ResultsError as error:
            yield Finding(subject, str(error), state_if_refused)
            continue
        free = shutil.disk_usage(next(path for path in (folder, *folder.absolute().parents) if path.exists())).free
        state, remark = (OK, "") if free >= LEAST_BYTES else (WARNING, ", which is little")
        yield Finding(subject, f"{folder}: writable, {_gigabytes(free)} free{remark}", state)


def self_test() -> Iterator[Finding]:
    """Train small models on all kernels of this machine, and yield its errors with their bounds.

    The log-likelihood that training reports is compared with a sum over the states of both layers, in NumPy, up to
    rounding; the parameters with those of the reference kernels. Both use the same random numbers, so that their bound
    lies between rounding and the effect of one differing sample, rate / batch.
    """
    import numpy as np

    from rbmbench.kernels import backend_name, backends, reference_kernels
    from rbmbench.training.trainer import train

    rows = (np.random.default_rng(1).random((23, 7)) < np.linspace(0.2, 0.8, 7)).astype(np.uint8)
    run = {"hidden": 5, "rate": 0.1, "batch": 6, "iterations": 37, "trials": 3, "precision": "float64"}
    run["evaluate_every"] = run["iterations"]

    def trained(backend: str = "numpy") -> "list[TrainingResult]":
        estimators = ({"estimator": name, "options": options} for name, options in TRAINED.items())
        return [train(rows, backend=backend, **estimator, **run) for estimator in estimators]

    with reference_kernels():
        results = {"numpy": trained()}
    if (host := backend_name(np.empty(0))) != "numpy":
        results[host] = trained()
    if backends.gpu_obstacle() is None:
        results["cupy"] = trained("cupy")

    def parameters(place: str) -> np.ndarray:
        return np.concatenate([array.ravel() for result in results[place] for array in result.rbm.parameters])

    for place, place_results in results.items():
        errors = []
        for result in place_results:
            curve = result.curve.query(f"metric == 'log_likelihood' and iteration == {run['iterations']}")
            errors.append(curve.sort_values("trial")["value"].to_numpy() - _log_likelihoods(result.rbm, rows))
        comparisons = {f"{place}: log-likelihood against the sum over all states, nats": (np.array(errors), ROUNDING)}
        if place != "numpy":
            errors = parameters(place) - parameters("numpy")
            bound = 1e-6 * run["rate"] / run["batch"]
            comparisons[f"{place}: trained parameters against those of the reference kernels"] = errors, bound
        for subject, (differences, bound) in comparisons.items():
            error = float(np.abs(differences).max())
            holds = error <= bound  # not where it is no number
            yield Finding(subject, f"{error:.1e} {'' if holds else 'is not '}<= {bound:.1e}", OK if holds else FAILED)


def _log_likelihoods(rbm: "RBM", rows: "np.ndarray") -> "np.ndarray":
    """Return the mean log-likelihood of rows under each model from its joint distribution."""
    import numpy as np
    from scipy.special import logsumexp

    m, n = rbm.visible_units, rbm.hidden_units
    v, h = ((np.arange(2**units)[:, None] >> np.arange(units) & 1).astype(np.float64) for units in (m, n))
    joint = v @ rbm.W @ h.T + (v @ rbm.b[..., None]) + (h @ rbm.c[..., None]).swapaxes(-1, -2)
    log_weights = logsumexp(joint, axis=-1)
    return log_weights[:, rows @ 2 ** np.arange(m)].mean(axis=-1) - logsumexp(log_weights, axis=-1)
