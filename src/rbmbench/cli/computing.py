"""The subcommands that compute: training, annealing, ground truths, bias and variance, meeting times, samples."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from rbmbench.base.errors import DataError, ResultsError, StoppedError, TrainingError
from rbmbench.base.settings import (
    AnnealingSettings,
    CouplingSettings,
    EstimateSettings,
    GroundTruthSettings,
    RunSettings,
    SamplingSettings,
    Settings,
)
from rbmbench.cli.making import plain_data
from rbmbench.io import provenance


class Stopwatch:
    """Wall-clock time and processor time since its creation."""

    def __init__(self):
        self._clock, self._processor = perf_counter(), process_time()

    def seconds(self, what: str) -> dict[str, float]:
        """Return both times, with keys for ``what`` was done."""
        clock, processor = perf_counter() - self._clock, process_time() - self._processor
        return {f"{what}_seconds": clock, f"{what}_cpu_seconds": processor}


def train(arguments: Namespace) -> None:
    """Train all trials of one run, and write its curve, models and meta."""
    settings = _settings(RunSettings, arguments)

    from rbmbench import datasets
    from rbmbench.training.checkpoint import owned

    dataset = datasets.read(arguments.data)
    before = provenance.seconds_since_start()
    outputs = [arguments.out / name for name in ("curve.parquet", "model.npz", "meta.json")]
    with owned(arguments.checkpoint, outputs):
        result = _trained_now(arguments, settings, dataset)
        wall = dict(result.timings)
        wall["startup_seconds"] += before
        wall["total_seconds"] = sum(wall[f"{kind}_seconds"] for kind in ("startup", "training", "evaluation"))
        _write_run(arguments, settings, dataset.provenance, result, wall)


def _trained_now(arguments: Namespace, settings: RunSettings, dataset: Any) -> Any:
    """Return the result of training."""
    from rbmbench.training import trainer

    with _stoppable(arguments, arguments.run_id) as (stopping, progress):
        return trainer.run(
            dataset.train,
            settings,
            checkpoint=arguments.checkpoint,
            progress=progress,
            threads=arguments.threads,
            backend=arguments.backend,
            test=dataset.test,
            checkpoint_seconds=arguments.checkpoint_seconds,
            stopping=stopping,
        )


@contextmanager
def _stoppable(arguments: Namespace, name: str) -> Iterator[tuple[Any, Any]]:
    """Yield the stopping callback (None without a checkpoint) and the progress callback; add ``name`` to errors."""
    from rbmbench.cli.progress import shown_progress
    from rbmbench.cli.stopping import StopSignals

    signals = StopSignals() if arguments.checkpoint else nullcontext()
    try:
        with signals as stopping, shown_progress(name, "mean log-likelihood") as progress:
            yield stopping, progress
    except TrainingError as error:
        raise TrainingError(f"{name}: {error}") from None
    except StoppedError as stop:
        raise StoppedError(f"{name}: {stop}", stop.signal) from None


def evaluate(arguments: Namespace) -> None:
    """Evaluate the snapshots of one run by annealed importance sampling, and write the whole curve and its meta."""
    settings = _settings(AnnealingSettings, arguments)

    import pandas as pd

    from rbmbench import datasets
    from rbmbench.io import results
    from rbmbench.kernels import backends
    from rbmbench.training.checkpoint import owned
    from rbmbench.training.snapshots import annealed_curve

    dataset, meta = datasets.read(arguments.data), results.read_meta(arguments.model)
    snapshots, diagnostics = results.read_snapshots(arguments.model), results.read_curve(arguments.model)
    models = snapshots["snapshot_W"]
    _check_width(models.shape[-2], dataset, arguments.model)
    # Two matrix products per step, for all trials of a snapshot.
    chosen = backends.choose(arguments.backend, 4.0 * settings.particles * models.size / len(models))
    stopwatch = Stopwatch()
    curve_file, meta_file = (arguments.out / name for name in ("curve.parquet", "meta.json"))
    with owned(arguments.checkpoint, (curve_file, meta_file)):
        with _stoppable(arguments, arguments.out.name) as (stopping, progress):
            curve = annealed_curve(
                snapshots,
                dataset.train,
                settings,
                test=dataset.test if meta["settings"].get("test_likelihood") else None,
                first_trial=meta["settings"]["first_trial"],
                checkpoint=arguments.checkpoint,
                identity=f"{arguments.model.name}-{settings.digest()}-{dataset.provenance['content_sha256'][:10]}",
                threads=arguments.threads,
                arrays=chosen.arrays,
                progress=progress,
                checkpoint_seconds=arguments.checkpoint_seconds,
                stopping=stopping,
            )
        wall = meta["wall"] | stopwatch.seconds("annealing")
        own = _meta(arguments, settings, dataset.provenance, chosen.arrays.empty(0))
        results.write_table(curve_file, pd.concat([curve, diagnostics], ignore_index=True))
        results.write_json(meta_file, meta | {"wall": wall, "evaluation": own | {"backend_reason": chosen.reason}})


def ground_truth(arguments: Namespace) -> None:
    """Compute the model expectations of trained models, and write them and their meta."""
    settings = _settings(GroundTruthSettings, arguments)

    from rbmbench import datasets
    from rbmbench.cli.progress import shown_progress
    from rbmbench.io import results
    from rbmbench.measurements import gradient_bias

    dataset = datasets.read(arguments.data)
    rbm = _trained(arguments.model, dataset)
    stopwatch = Stopwatch()
    with shown_progress(arguments.out.name) as progress:
        truth = gradient_bias.ground_truth(rbm, dataset.train, settings, progress=progress)
    results.write_arrays(arguments.out / "ground_truth.npz", truth.arrays())
    _write_measurement(arguments, settings, dataset.provenance, rbm, stopwatch)


def estimate(arguments: Namespace) -> None:
    """Measure bias and variance of a gradient estimator on trained models, and write them and their meta."""
    settings = _settings(EstimateSettings, arguments)

    from rbmbench import datasets
    from rbmbench.cli.progress import shown_progress
    from rbmbench.io import results
    from rbmbench.measurements import gradient_bias

    dataset = datasets.read(arguments.data)
    rbm = _trained(arguments.model, dataset)
    truths = {}
    for file in arguments.ground_truths:
        truths[results.read_meta(file.parent)["settings"]["method"]] = _truth(file, rbm)
    stopwatch = Stopwatch()
    with shown_progress(arguments.out.name) as progress:
        measured = gradient_bias.measure(rbm, dataset.train, settings, truths, progress=progress)
    results.write_table(arguments.out / "bias.parquet", measured)
    _write_measurement(arguments, settings, dataset.provenance, rbm, stopwatch)


def couple(arguments: Namespace) -> None:
    """Run pairs of coupled chains of one random model until they meet, and write their stopping times and meta."""
    settings = _settings(CouplingSettings, arguments)

    import pandas as pd

    from rbmbench.io import results
    from rbmbench.measurements import meeting_times

    stopwatch = Stopwatch()
    times = meeting_times.coupled_stopping_times(settings)
    table = pd.DataFrame({"chain": range(len(times)), "stopping_time": times})
    wall = stopwatch.seconds("measuring") | {"total_seconds": provenance.seconds_since_start()}
    results.write_table(arguments.out / "stopping_times.parquet", table)
    results.write_json(arguments.out / "meta.json", _meta(arguments, settings, {}, times) | {"wall": wall})


def sample(arguments: Namespace) -> None:
    """Draw samples of trained models, and write their likelihoods, the first samples and the meta."""
    settings = _settings(SamplingSettings, arguments)

    from rbmbench import datasets
    from rbmbench.cli.progress import shown_progress
    from rbmbench.io import results
    from rbmbench.measurements import sampling

    dataset = datasets.read(arguments.data)
    rbm = _trained(arguments.model, dataset)
    stopwatch = Stopwatch()
    with shown_progress(arguments.out.name) as progress:
        found = sampling.sampled(rbm, dataset, settings, progress)
    results.write_table(arguments.out / "isl.parquet", found.likelihoods)
    results.write_arrays(arguments.out / "shown.npz", found.shown)
    grids = {name: grid.settings for name, grid in settings.samplers.items()}
    more = {"grids": grids, "seconds_per_sample": found.seconds}
    _write_measurement(arguments, settings, dataset.provenance, rbm, stopwatch, more)


def _truth(file: Path, rbm: Any) -> Any:
    """Return the ground truth in a file, after a check of its shape."""
    from rbmbench.io.results import read_arrays
    from rbmbench.measurements.gradient_bias import GroundTruth

    arrays = read_arrays(file, ("mean", "blocks"))
    mean, blocks = arrays["mean"], arrays["blocks"]
    shape = len(rbm.W), rbm.W[0].size + rbm.b[0].size + rbm.c[0].size
    if mean.shape != shape or blocks.shape[1:] != shape or {mean.dtype.kind, blocks.dtype.kind} != {"f"}:
        found = f"mean {mean.shape} of {mean.dtype} and blocks {blocks.shape} of {blocks.dtype}"
        raise ResultsError(
            f"{file}: found {found}; should be floating point, (..., {shape[0]}, {shape[1]}) as the models"
        )
    return GroundTruth(mean, blocks)


def _check_width(visible: int, dataset: Any, folder: Path) -> None:
    """Raise a `DataError` if the models and the data set have different numbers of visible units."""
    if visible != (found := dataset.train.shape[1]):
        raise DataError(f"{folder}: model.npz: found {visible} visible units; data set {dataset.name!r} has {found}")


def _trained(folder: Path, dataset: Any) -> Any:
    """Return the trained models of a run on a data set, one replica per trial."""
    from rbmbench.io.results import read_model
    from rbmbench.model.rbm import RBM

    arrays = read_model(folder)
    _check_width(arrays["W"].shape[-2], dataset, folder)
    return RBM(arrays["W"], arrays["b"], arrays["c"])


def _write_measurement(
    arguments: Namespace, settings: Settings, data: dict, rbm: Any, stopwatch: Stopwatch, more: dict | None = None
) -> None:
    """Write the meta of a measurement of trained models, with ``more`` keys."""
    from rbmbench.io.results import write_json

    meta = _meta(arguments, settings, data, rbm.W) | {
        "run": arguments.model.name,
        "wall": stopwatch.seconds("measuring") | {"total_seconds": provenance.seconds_since_start()},
        "trials": len(rbm.W),
    }
    write_json(arguments.out / "meta.json", meta | (more or {}))


def _write_run(arguments: Namespace, settings: RunSettings, data: dict, result: Any, wall: dict[str, float]) -> None:
    """Write the folder of a run."""
    from rbmbench.io import results

    rbm = result.rbm
    model = {"W": rbm.W, "b": rbm.b, "c": rbm.c, "iteration": settings.iterations, "seed": settings.seed}
    model |= result.snapshots
    results.write_table(arguments.out / "curve.parquet", result.curve)
    results.write_arrays(arguments.out / "model.npz", model)
    meta = _meta(arguments, settings, data, rbm.W) | {
        "run": arguments.run_id,
        "wall": wall,
        **result.backend,
        "iterations": settings.iterations,
        "trials": settings.trials,
    }
    results.write_json(arguments.out / "meta.json", meta)


def _meta(arguments: Namespace, settings: Settings, data: dict, array: Any) -> dict[str, Any]:
    """Return the keys that all meta files have."""
    from rbmbench.kernels import backend_name

    return provenance.collect() | {
        "settings": settings.model_dump(mode="json"),
        "scale": arguments.scale,
        "data": data,
        "backend": backend_name(array),
        "threads": arguments.threads,
        "seed": settings.seed,
    }


def _settings(model: type[Settings], arguments: Namespace) -> Any:
    """Return the settings of a command, after a check that the output folder is writable; record the commit."""
    from rbmbench.io.results import check_writable

    settings = _read_settings(model, arguments.settings)
    check_writable(arguments.out)
    provenance.commit()
    return settings


def _read_settings(model: type[Settings], text: str) -> Any:
    """Return settings from JSON text, or from the name of a JSON file."""
    from rbmbench.base.parsing import parse
    from rbmbench.io.results import read_json

    if not text.lstrip().startswith("{"):
        return parse(model, read_json(Path(text)), text)
    return parse(model, plain_data("--settings", text), "--settings")
