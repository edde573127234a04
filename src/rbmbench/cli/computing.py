# SPDX-License-Identifier: BSD-3-Clause
"""The subcommands that compute: training, annealing, ground truths, bias and variance, meeting times, samples."""

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from rbmbench import datasets
from rbmbench.base.errors import DataError, ResultsError, SettingsError, StoppedError, TrainingError
from rbmbench.base.pace import Stopping
from rbmbench.base.parsing import parse
from rbmbench.base.settings import (
    HELD_OUT,
    AnnealingSettings,
    CertificateSettings,
    CouplingSettings,
    EstimateSettings,
    GroundTruthSettings,
    RunSettings,
    SamplingSettings,
    Settings,
)
from rbmbench.cli.parser import ONE_STAGE, plain_data
from rbmbench.cli.progress import shown_progress
from rbmbench.cli.stopping import StopSignals
from rbmbench.io import provenance, results
from rbmbench.io.layout import BIAS, CERTIFICATE, CURVE, ISL, JOBS, MODEL, SHOWN, STATE, STOPPING_TIMES, TRUTH
from rbmbench.io.meta import STOPPING_TIME
from rbmbench.kernels import backend_name, backends, ways
from rbmbench.measurements import gradient_bias, meeting_times, sampling
from rbmbench.measurements.certificate import certificate as certificate_of
from rbmbench.measurements.fingerprints import UNKNOWN, fingerprint
from rbmbench.model.rbm import RBM
from rbmbench.training import extension, trainer
from rbmbench.training.arguments import settings_from
from rbmbench.training.checkpoint import Checkpointer, owned
from rbmbench.training.run import TrainingResult
from rbmbench.training.snapshots import annealed_curve

USUAL_BATCH = 100


def train(arguments: Namespace) -> None:
    """Train all trials of one run, and write its curve, models and meta."""
    trained(arguments, *run_of(arguments))


def trained(arguments: Namespace, settings: RunSettings, dataset: datasets.Dataset) -> None:
    """Train a run on a data set, and write its files."""
    code = fingerprint(settings, dataset.train.shape[1])
    before, name = provenance.seconds_since_start(), arguments.run_id or arguments.out.absolute().name
    earlier, begun = _earlier(arguments, settings, dataset, code)
    left = extension.missing(settings, earlier) if earlier else settings
    if earlier and left and arguments.checkpoint:
        arguments.checkpoint = arguments.checkpoint.with_stem(f"{arguments.checkpoint.stem}-from-{left.first_trial}")
    with _owned(arguments, "run"):
        # The state of some trials is not that of the run.
        state = arguments.out / STATE if arguments.keep_state and not earlier else None
        result = _newly_trained(arguments, left, dataset, name, begun, state) if left else earlier
        if earlier and left:
            result = extension.joined(earlier, result)
        wall, rbm = dict(result.timings), result.rbm
        wall["startup_seconds"] += before
        wall["total_seconds"] = sum(wall[f"{kind}_seconds"] for kind in ("startup", "training", "evaluation"))
        iterations = result.meta["iterations"]
        model = {"W": rbm.W, "b": rbm.b, "c": rbm.c, "iteration": iterations, "seed": settings.seed}
        more = {"run": name, "wall": wall, "iterations": iterations, "trials": settings.trials}
        more |= _mean_diagnostics(result.curve)
        meta = _meta(arguments, settings, dataset.provenance, rbm.W, code) | result.backend | more
        if earlier:
            meta["parts"] = extension.parts_of(earlier, settings.trials, meta)
        elif begun:
            meta["parts"] = extension.parts_in_time(begun, meta)
        results.write_table(arguments.out / CURVE, result.curve)
        results.write_arrays(arguments.out / MODEL, model | result.snapshots)
        results.write_meta(arguments.out, "run", meta)


def _mean_diagnostics(curve: pd.DataFrame) -> dict[str, float]:
    """Return the diagnostics that tell what a run cost, if it has them: means over trials and iterations."""
    times = curve.loc[curve["metric"] == STOPPING_TIME, "value"]
    return {} if times.empty else {STOPPING_TIME: float(times.mean())}


def _earlier(
    arguments: Namespace, settings: RunSettings, dataset: datasets.Dataset, code: str
) -> tuple[TrainingResult | None, tuple[Path, RunSettings] | None]:
    """Return a run that has some of the trials, or the state of one that has the first iterations, if there is one."""
    # Trials that end with a budget of products end where the last of them has spent it.
    if not arguments.extends or code == UNKNOWN or settings.products:
        return None, None
    chosen = backends.choose(arguments.backend, backends.work(settings, dataset.train.shape[1]))
    meta = {"code": code, "data": dataset.provenance, "backend": backend_name(chosen.arrays.empty(0))}
    # Ids of the workflow differ in their digest alone where settings differ in the number of trials or iterations.
    like = f"{arguments.run_id.rpartition('-')[0]}-*" if arguments.run_id else "*"
    earlier = extension.earlier_run(arguments.extends, like, settings, meta)
    return earlier, None if earlier else extension.earlier_state(arguments.extends, like, settings, meta)


def _newly_trained(
    arguments: Namespace,
    settings: RunSettings,
    dataset: datasets.Dataset,
    name: str,
    begun: tuple[Path, RunSettings] | None,
    state: Path | None,
) -> TrainingResult:
    with _stoppable(arguments, name) as (stopping, progress):
        return trainer.run(
            dataset.train,
            settings,
            checkpoint=arguments.checkpoint,
            progress=progress,
            threads=arguments.threads,
            backend=arguments.backend,
            validation=dataset.validation,
            test=dataset.test,
            checkpoint_seconds=arguments.checkpoint_seconds,
            stopping=stopping,
            begun=begun,
            state=state,
        )


def evaluate(arguments: Namespace) -> None:
    """Evaluate the snapshots of one run by annealed importance sampling, and write the whole curve and its meta."""
    settings, dataset = _settings(AnnealingSettings, arguments), datasets.read_file(arguments.data)
    code = fingerprint(settings)
    run, snapshots = results.read_meta(arguments.model), results.read_snapshots(arguments.model)
    diagnostics, models = results.read_table(arguments.model, CURVE), snapshots["snapshot_W"]
    _check_width(models, dataset, arguments.model)
    # Two matrix products per step, for all trials of a snapshot.
    chosen = backends.choose(arguments.backend, 4.0 * settings.particles * models.size / len(models))
    array = chosen.arrays.empty(0)
    earlier = None
    if arguments.extends and code != UNKNOWN:
        like = f"{arguments.model.name.rpartition('-')[0]}-*"
        alike = {"settings": settings.model_dump(mode="json"), "code": code, "data": dataset.provenance}
        alike |= {"backend": backend_name(array)}
        known = diagnostics["metric"].unique()
        earlier = extension.earlier_evaluation(arguments.extends, like, run, alike, known)
    with _owned(arguments, "evaluation"):
        there = earlier.trials if earlier else 0
        curve, spent = (earlier.curve, earlier.spent) if earlier else (None, {})
        if there < run["settings"]["trials"]:
            new, seconds = _annealed(arguments, settings, dataset, run, snapshots, there, chosen.arrays)
            curve = pd.concat([curve, new]).sort_values(["metric", "iteration", "trial"], ignore_index=True)
            spent = {name: spent.get(name, 0.0) + value for name, value in seconds.items()}
        own = _meta(arguments, settings, dataset.provenance, array, code) | {"backend_reason": chosen.reason}
        if earlier:
            own["parts"] = earlier.parts(run, own)
        results.write_table(arguments.out / CURVE, pd.concat([curve, diagnostics], ignore_index=True))
        wall = run["wall"] | spent
        results.write_meta(arguments.out, "evaluation", run | {"wall": wall, "evaluation": own})


def _annealed(
    arguments: Namespace,
    settings: AnnealingSettings,
    dataset: datasets.Dataset,
    run: dict[str, Any],
    snapshots: dict[str, np.ndarray],
    there: int,
    arrays: ModuleType,
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return the annealed curve of the trials of a run but the first ``there``, and the times that it took."""
    evaluated = [part for part in HELD_OUT if run["settings"].get(f"{part}_likelihood")]
    with _resumable(arguments) as (checkpointer, progress):
        curve = annealed_curve(
            extension.of_trials(snapshots, slice(there, None)),
            dataset.train,
            settings,
            held_out={part: getattr(dataset, part) for part in evaluated},
            first_trial=run["settings"]["first_trial"] + there,
            threads=arguments.threads,
            arrays=arrays,
            progress=progress,
            checkpointer=checkpointer,
        )
    return curve, _spent(checkpointer, "annealing")


def ground_truth(arguments: Namespace) -> None:
    """Compute the model expectations of trained models, and write them and their meta."""
    job = _Measurement(GroundTruthSettings, arguments)
    with _owned(arguments, "ground_truth"):
        with _resumable(arguments) as (checkpointer, progress):
            truth = gradient_bias.ground_truth(job.rbm, job.dataset.train, job.settings, progress, checkpointer)
        results.write_arrays(arguments.out / TRUTH, truth.arrays())
        job.write_meta("ground_truth", checkpointer)


def estimate(arguments: Namespace) -> None:
    """Measure bias and variance of a gradient estimator on trained models, and write them and their meta."""
    job, truths = _Measurement(EstimateSettings, arguments), {}
    for file in arguments.ground_truths:
        truths[results.read_meta(file.parent)["settings"]["method"]] = _truth(file, job.rbm)
    with _owned(arguments, "estimate"):
        with _resumable(arguments) as (checkpointer, progress):
            measured = gradient_bias.measure(job.rbm, job.dataset.train, job.settings, truths, progress, checkpointer)
        results.write_table(arguments.out / BIAS, measured)
        job.write_meta("estimate", checkpointer)


def sample(arguments: Namespace) -> None:
    """Draw samples of trained models, and write their likelihoods, the first samples and the meta."""
    job = _Measurement(SamplingSettings, arguments)
    with _owned(arguments, "samples"):
        with _resumable(arguments) as (checkpointer, progress):
            found = sampling.sampled(job.rbm, job.dataset, job.settings, progress, checkpointer)
        results.write_table(arguments.out / ISL, found.likelihoods)
        results.write_arrays(arguments.out / SHOWN, found.shown)
        grids = {name: grid.settings for name, grid in job.settings.samplers.items()}
        job.write_meta("samples", checkpointer, grids=grids, seconds_per_sample=found.seconds)


def certificate(arguments: Namespace) -> None:
    """Compute the certificates of trained models, and write their quantities and meta."""
    job = _Measurement(CertificateSettings, arguments)
    with _owned(arguments, "certificate"):
        with _resumable(arguments) as (checkpointer, progress):
            found = certificate_of(job.rbm, job.dataset.train, job.settings, job.dataset.test, progress, checkpointer)
        results.write_table(arguments.out / CERTIFICATE, found)
        job.write_meta("certificate", checkpointer)


def couple(arguments: Namespace) -> None:
    """Run pairs of coupled chains of one random model until they meet, and write their stopping times and meta."""
    settings = _settings(CouplingSettings, arguments)
    code = fingerprint(settings)
    with _owned(arguments, "coupling"):
        with _resumable(arguments) as (checkpointer, _):
            times = meeting_times.coupled_stopping_times(settings, checkpointer)
        wall = _measuring(checkpointer)
        table = pd.DataFrame({"chain": range(len(times)), "stopping_time": times})
        results.write_table(arguments.out / STOPPING_TIMES, table)
        results.write_meta(arguments.out, "coupling", _meta(arguments, settings, {}, times, code) | {"wall": wall})


class _Measurement:
    """Settings, data set and trained models (one replica per trial) of a measurement."""

    def __init__(self, model: type[Settings], arguments: Namespace):
        self.arguments, self.settings = arguments, _settings(model, arguments)
        self.dataset, self._code = datasets.read(arguments.data), fingerprint(self.settings)
        arrays = results.read_model(arguments.model)
        _check_width(arrays["W"], self.dataset, arguments.model)
        self.rbm = RBM(arrays["W"], arrays["b"], arrays["c"])

    def write_meta(self, kind: str, checkpointer: Checkpointer, **more: Any) -> None:
        """Write the meta of a kind of job, with ``more`` keys."""
        wall = _measuring(checkpointer)
        meta = _meta(self.arguments, self.settings, self.dataset.provenance, self.rbm.W, self._code)
        meta |= {"run": self.arguments.model.name, "wall": wall, "trials": len(self.rbm.W)}
        results.write_meta(self.arguments.out, kind, meta | more)


def _owned(arguments: Namespace, kind: str) -> AbstractContextManager[None]:
    """Lock the checkpoint of a kind of job until its outputs are written."""
    return owned(arguments.checkpoint, [arguments.out / name for name in JOBS[kind][1:]])


@contextmanager
def _resumable(arguments: Namespace) -> Iterator[tuple[Checkpointer, Callable[..., None]]]:
    """Yield the checkpointer and the progress callback of a computation."""
    with _stoppable(arguments, arguments.out.name) as (stopping, progress):
        yield Checkpointer(arguments.checkpoint, arguments.checkpoint_seconds, stopping), progress


@contextmanager
def _stoppable(arguments: Namespace, name: str) -> Iterator[tuple[Stopping | None, Callable[..., None]]]:
    """Yield what tells of signals, if there is a checkpoint, and the progress callback; add ``name`` to errors."""
    signals = StopSignals() if arguments.checkpoint else None
    try:
        with signals or nullcontext() as stopping, shown_progress(name, "mean log-likelihood") as progress:
            yield stopping, progress
    except TrainingError as error:
        raise TrainingError(f"{name}: {error}") from None
    except StoppedError as stop:
        raise StoppedError(f"{name}: {stop}", stop.signal) from None
    except KeyboardInterrupt:
        if signals and (number := signals()):
            raise StoppedError(f"{name}: stopped while it was starting; run the same command again", number) from None
        raise


def _truth(file: Path, rbm: RBM) -> gradient_bias.GroundTruth:
    """Return the ground truth in a file, after a check of its shape."""
    arrays = results.read_arrays(file, ("mean", "blocks"))
    mean, blocks = arrays["mean"], arrays["blocks"]
    shape = len(rbm.W), rbm.W[0].size + rbm.b[0].size + rbm.c[0].size
    if mean.shape != shape or blocks.shape[1:] != shape or {mean.dtype.kind, blocks.dtype.kind} != {"f"}:
        found = f"mean {mean.shape} of {mean.dtype} and blocks {blocks.shape} of {blocks.dtype}"
        raise ResultsError(
            f"{file}: found {found}; should be floating point, (..., {shape[0]}, {shape[1]}) as the models"
        )
    return gradient_bias.GroundTruth(mean, blocks)


def _check_width(models: np.ndarray, dataset: datasets.Dataset, folder: Path) -> None:
    """Raise a `DataError` if weights (..., m, n) and data set differ in the number of visible units."""
    found, expected = models.shape[-2], dataset.train.shape[1]
    if found != expected:
        raise DataError(f"{folder}: model.npz: found {found} visible units; data set {dataset.name!r} has {expected}")


def _meta(arguments: Namespace, settings: Settings, data: dict, array: Any, code: str) -> dict[str, Any]:
    """Return the keys that all meta files have; ``code`` is the fingerprint that was taken at the start."""
    backend = backend_name(array)
    return provenance.collect() | {
        "settings": settings.model_dump(mode="json"),
        "scale": arguments.scale,
        "code": code,
        "data": data,
        "backend": backend,
        "backend_products": "library" if backend == "numpy" else ways.asked(),
        "threads": arguments.threads,
        "seed": settings.seed,
    }


def run_of(arguments: Namespace) -> tuple[RunSettings, datasets.Dataset]:
    """Return the settings of a run, from --settings or from single arguments, and its data set."""
    names = [argument.removeprefix("--").replace("-", "_") for argument in ONE_STAGE]
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if arguments.settings:
        if given:
            raise SettingsError(f"--settings: found with {_argument(given)}; allowed: one of the two")
        return _settings(RunSettings, arguments), datasets.read_file(arguments.data)
    for name in ("hidden", "iterations"):
        if name not in given:
            raise SettingsError(f"{_argument([name])}: found nothing; allowed: an integer >= 1, or --settings")
    _check_start(arguments)
    dataset = datasets.read_file(arguments.data)
    options = plain_data("--options", given.pop("options", "{}")) | ({"k": given.pop("k")} if "k" in given else {})
    given = {"batch": min(USUAL_BATCH, len(dataset.train)), "options": options} | given
    data = {"name": dataset.name, "options": dataset.provenance["options"]}
    return settings_from(given, data, "train"), dataset


def _argument(names: Iterable[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def _check_start(arguments: Namespace) -> None:
    """Check the environment and the output folder, and record the commit."""
    ways.check_switch()
    results.check_writable(arguments.out)
    provenance.commit()


def _settings(model: type[Settings], arguments: Namespace) -> Any:
    """Return the settings, a JSON text or the name of a JSON file; make the checks before the start."""
    text = arguments.settings
    if text.lstrip().startswith("{"):
        settings = parse(model, plain_data("--settings", text), "--settings")
    else:
        settings = parse(model, results.read_json(text), text)
    _check_start(arguments)
    return settings


def _measuring(checkpointer: Checkpointer) -> dict[str, float]:
    """Return the times of a measurement, interrupted computations that it goes on from included."""
    total = checkpointer.earlier + provenance.seconds_since_start()
    return _spent(checkpointer, "measuring") | {"total_seconds": total}


def _spent(checkpointer: Checkpointer, what: str) -> dict[str, float]:
    """Return wall-clock and processor time of a computation, with keys for ``what`` was done."""
    clock, processor = checkpointer.spent()
    return {f"{what}_seconds": clock, f"{what}_cpu_seconds": processor}
