"""The subcommands that compute: training, annealing, ground truths, bias and variance, meeting times, samples."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd

from rbmbench import datasets
from rbmbench.base.errors import DataError, ResultsError, StoppedError, TrainingError
from rbmbench.base.parsing import parse
from rbmbench.base.settings import (
    AnnealingSettings,
    CouplingSettings,
    EstimateSettings,
    GroundTruthSettings,
    RunSettings,
    SamplingSettings,
    Settings,
)
from rbmbench.cli.parser import plain_data
from rbmbench.cli.progress import shown_progress
from rbmbench.cli.stopping import StopSignals
from rbmbench.io import provenance, results
from rbmbench.io.atomic import write_json
from rbmbench.io.layout import BIAS, CURVE, ISL, META, MODEL, SHOWN, STOPPING_TIMES, TRUTH
from rbmbench.kernels import backend_name, backends, ways
from rbmbench.measurements import gradient_bias, meeting_times, sampling
from rbmbench.model.rbm import RBM
from rbmbench.training import trainer
from rbmbench.training.checkpoint import owned
from rbmbench.training.snapshots import annealed_curve


def train(arguments: Namespace) -> None:
    """Train all trials of one run, and write its curve, models and meta."""
    settings, dataset = _settings(RunSettings, arguments), datasets.read(arguments.data)
    before = provenance.seconds_since_start()
    with owned(arguments.checkpoint, [arguments.out / name for name in (CURVE, MODEL, META)]):
        with _resumable(arguments, arguments.run_id) as options:
            result = trainer.run(dataset.train, settings, backend=arguments.backend, test=dataset.test, **options)
        wall, rbm = dict(result.timings), result.rbm
        wall["startup_seconds"] += before
        wall["total_seconds"] = sum(wall[f"{kind}_seconds"] for kind in ("startup", "training", "evaluation"))
        model = {"W": rbm.W, "b": rbm.b, "c": rbm.c, "iteration": settings.iterations, "seed": settings.seed}
        more = {"run": arguments.run_id, "wall": wall, "iterations": settings.iterations, "trials": settings.trials}
        meta = _meta(arguments, settings, dataset.provenance, rbm.W) | result.backend | more
        results.write_table(arguments.out / CURVE, result.curve)
        results.write_arrays(arguments.out / MODEL, model | result.snapshots)
        write_json(arguments.out / META, meta)


def evaluate(arguments: Namespace) -> None:
    """Evaluate the snapshots of one run by annealed importance sampling, and write the whole curve and its meta."""
    settings, dataset = _settings(AnnealingSettings, arguments), datasets.read(arguments.data)
    meta, snapshots = results.read_meta(arguments.model), results.read_snapshots(arguments.model)
    diagnostics, models = results.read_table(arguments.model, CURVE), snapshots["snapshot_W"]
    _check_width(models, dataset, arguments.model)
    # Two matrix products per step, for all trials of a snapshot.
    chosen = backends.choose(arguments.backend, 4.0 * settings.particles * models.size / len(models))
    start = _clocks()
    with owned(arguments.checkpoint, [arguments.out / name for name in (CURVE, META)]):
        with _resumable(arguments, arguments.out.name) as options:
            curve = annealed_curve(
                snapshots,
                dataset.train,
                settings,
                test=dataset.test if meta["settings"].get("test_likelihood") else None,
                first_trial=meta["settings"]["first_trial"],
                identity=f"{arguments.model.name}-{settings.digest()}-{dataset.provenance['content_sha256'][:10]}",
                arrays=chosen.arrays,
                **options,
            )
        wall = meta["wall"] | _seconds_since(start, "annealing")
        own = _meta(arguments, settings, dataset.provenance, chosen.arrays.empty(0))
        results.write_table(arguments.out / CURVE, pd.concat([curve, diagnostics], ignore_index=True))
        evaluation = own | {"backend_reason": chosen.reason}
        write_json(arguments.out / META, meta | {"wall": wall, "evaluation": evaluation})


def ground_truth(arguments: Namespace) -> None:
    """Compute the model expectations of trained models, and write them and their meta."""
    job = _Measurement(GroundTruthSettings, arguments)
    with job.timed() as progress:
        truth = gradient_bias.ground_truth(job.rbm, job.dataset.train, job.settings, progress=progress)
    results.write_arrays(arguments.out / TRUTH, truth.arrays())
    job.write_meta()


def estimate(arguments: Namespace) -> None:
    """Measure bias and variance of a gradient estimator on trained models, and write them and their meta."""
    job, truths = _Measurement(EstimateSettings, arguments), {}
    for file in arguments.ground_truths:
        truths[results.read_meta(file.parent)["settings"]["method"]] = _truth(file, job.rbm)
    with job.timed() as progress:
        measured = gradient_bias.measure(job.rbm, job.dataset.train, job.settings, truths, progress=progress)
    results.write_table(arguments.out / BIAS, measured)
    job.write_meta()


def sample(arguments: Namespace) -> None:
    """Draw samples of trained models, and write their likelihoods, the first samples and the meta."""
    job = _Measurement(SamplingSettings, arguments)
    with job.timed() as progress:
        found = sampling.sampled(job.rbm, job.dataset, job.settings, progress)
    results.write_table(arguments.out / ISL, found.likelihoods)
    results.write_arrays(arguments.out / SHOWN, found.shown)
    grids = {name: grid.settings for name, grid in job.settings.samplers.items()}
    job.write_meta(grids=grids, seconds_per_sample=found.seconds)


def couple(arguments: Namespace) -> None:
    """Run pairs of coupled chains of one random model until they meet, and write their stopping times and meta."""
    settings, start = _settings(CouplingSettings, arguments), _clocks()
    times = meeting_times.coupled_stopping_times(settings)
    wall = _seconds_since(start, "measuring") | {"total_seconds": provenance.seconds_since_start()}
    table = pd.DataFrame({"chain": range(len(times)), "stopping_time": times})
    results.write_table(arguments.out / STOPPING_TIMES, table)
    write_json(arguments.out / META, _meta(arguments, settings, {}, times) | {"wall": wall})


class _Measurement:
    """Settings, data set and trained models (one replica per trial) of a measurement, and its time."""

    def __init__(self, model: type[Settings], arguments: Namespace):
        self.arguments, self.settings = arguments, _settings(model, arguments)
        self.dataset = datasets.read(arguments.data)
        arrays = results.read_model(arguments.model)
        _check_width(arrays["W"], self.dataset, arguments.model)
        self.rbm = RBM(arrays["W"], arrays["b"], arrays["c"])

    @contextmanager
    def timed(self) -> Iterator[Callable[..., None]]:
        """Yield the progress callback of the computation."""
        start = _clocks()
        with shown_progress(self.arguments.out.name) as progress:
            yield progress
        self._seconds = _seconds_since(start, "measuring")

    def write_meta(self, **more: Any) -> None:
        """Write the meta, with ``more`` keys."""
        wall = self._seconds | {"total_seconds": provenance.seconds_since_start()}
        meta = _meta(self.arguments, self.settings, self.dataset.provenance, self.rbm.W)
        meta |= {"run": self.arguments.model.name, "wall": wall, "trials": len(self.rbm.W)}
        write_json(self.arguments.out / META, meta | more)


@contextmanager
def _resumable(arguments: Namespace, name: str) -> Iterator[dict[str, Any]]:
    """Yield the options of a computation with a checkpoint; add ``name`` to its errors."""
    options = {key: getattr(arguments, key) for key in ("checkpoint", "checkpoint_seconds", "threads")}
    signals = StopSignals() if arguments.checkpoint else nullcontext()
    try:
        with signals as stopping, shown_progress(name, "mean log-likelihood") as progress:
            yield options | {"stopping": stopping, "progress": progress}
    except TrainingError as error:
        raise TrainingError(f"{name}: {error}") from None
    except StoppedError as stop:
        raise StoppedError(f"{name}: {stop}", stop.signal) from None


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


def _meta(arguments: Namespace, settings: Settings, data: dict, array: Any) -> dict[str, Any]:
    """Return the keys that all meta files have."""
    backend = backend_name(array)
    return provenance.collect() | {
        "settings": settings.model_dump(mode="json"),
        "scale": arguments.scale,
        "data": data,
        "backend": backend,
        "backend_products": "library" if backend == "numpy" else ways.asked(),
        "threads": arguments.threads,
        "seed": settings.seed,
    }


def _settings(model: type[Settings], arguments: Namespace) -> Any:
    """Return the settings, a JSON text or the name of a JSON file; check the output folder, record the commit."""
    text = arguments.settings
    if text.lstrip().startswith("{"):
        settings = parse(model, plain_data("--settings", text), "--settings")
    else:
        settings = parse(model, results.read_json(text), text)
    ways.check_switch()
    results.check_writable(arguments.out)
    provenance.commit()
    return settings


def _clocks() -> tuple[float, float]:
    return perf_counter(), process_time()


def _seconds_since(start: tuple[float, float], what: str) -> dict[str, float]:
    """Return wall-clock and processor time since a call of `_clocks`, with keys for ``what`` was done."""
    clock, processor = (now - then for now, then in zip(_clocks(), start, strict=True))
    return {f"{what}_seconds": clock, f"{what}_cpu_seconds": processor}
