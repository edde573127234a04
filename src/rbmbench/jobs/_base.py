# SPDX-License-Identifier: BSD-3-Clause
"""Base of the kinds of jobs.

A job has settings, and a folder of its own in the results of a scale. It reads a data set, the models of a training run
and the results of other jobs, and writes tables and arrays, and last of all ``meta.json``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rbmbench import datasets
from rbmbench.base.errors import DataError, SettingsError, StoppedError, TrainingError
from rbmbench.base.pace import Progress, Stopping
from rbmbench.base.settings import RunSettings, Settings
from rbmbench.io import provenance, results
from rbmbench.io.layout import META
from rbmbench.jobs.fingerprints import fingerprint
from rbmbench.jobs.probes import Arrays
from rbmbench.kernels import backend_name, ways
from rbmbench.model.rbm import RBM
from rbmbench.model.work import Work
from rbmbench.training.checkpoint import Checkpointer, owned

OF_BLOCK = ("block", "commit", "finished", "hardware", "backend")  # keys of ``meta.json`` that are kept of each block

Watch = Callable[[str], AbstractContextManager[Progress]]


class Sizes(NamedTuple):
    """Sizes that the cost of a job follows from, besides its settings; m visible and n hidden units."""

    rows: int = 0
    m: int = 0
    n: int = 0
    trials: int = 1
    held_out: Mapping[str, int] = {}  # numbers of validation and test rows, where known
    run: RunSettings | None = None  # settings of the training run whose models are measured
    expected: Mapping[str, float] = {}
    """Diagnostics that the cost of estimators depends on, such as stopping_time, where known."""


@dataclass
class Task:
    """One job to compute: settings, input files, and the folder to write."""

    settings: Any
    out: Path  # folder to write
    data: Path | None = None  # file of the data set
    model: Path | None = None  # folder of the training run whose models are measured
    needs: tuple[Path, ...] = ()  # folders of the other jobs that this one reads
    checkpoint: Path | None = None  # to resume from, and to write
    checkpoint_seconds: float | None = None  # least time between two checkpoints
    threads: int = 1
    scale: str = "none"  # name, for meta.json
    backend: str = "auto"  # arrays to compute on: "auto", "numpy" or "cupy"
    signals: Any = None  # context manager whose value stops the computation, see `rbmbench.base.pace.Stopping`
    watch: Watch = field(default=lambda name: nullcontext(lambda *_: None))
    """Returns the context of a computation by its name: the callback that shows its progress."""
    run_id: str | None = None  # id of a training run; by default the name of the folder
    block: tuple[int, int] | None = None  # first and number of the parts, see `JobKind.parts`; by default all
    code: str = ""  # fingerprint, which a kind takes before its computation begins

    @property
    def chosen(self) -> slice:
        """The parts of the block as a slice of all."""
        return slice(self.block[0], sum(self.block)) if self.block else slice(None)

    def check_block(self, parts: int) -> None:
        """Raise a `SettingsError` if the block exceeds the number of parts."""
        if self.block and sum(self.block) > parts:
            raise SettingsError(f"--block: must end at part {parts} or before, got {'-'.join(map(str, self.block))}")

    def owned(self, files: Iterable[str]) -> AbstractContextManager[None]:
        """Return the lock of the checkpoint, held until the files of the folder are written."""
        return owned(self.checkpoint, [self.out / name for name in (*files, META)])

    @contextmanager
    def resumable(self) -> Iterator[tuple[Checkpointer, Progress]]:
        """Yield the checkpointer and the progress callback of a computation."""
        with self.stoppable(self.out.name) as (stopping, progress):
            yield Checkpointer(self.checkpoint, self.checkpoint_seconds, stopping), progress

    @contextmanager
    def stoppable(self, name: str) -> Iterator[tuple[Stopping | None, Progress]]:
        """Yield the flag that stops the computation and the progress callback; add ``name`` to errors."""
        signals = self.signals if self.checkpoint else None
        try:
            with signals or nullcontext() as stopping, self.watch(name) as progress:
                yield stopping, progress
        except TrainingError as error:
            raise TrainingError(f"{name}: {error}") from None
        except StoppedError as stop:
            raise StoppedError(f"{name}: {stop}", stop.signal) from None
        except (KeyboardInterrupt, RuntimeError):  # of compilers, which drop an interrupt that reaches their callbacks
            if signals and (number := signals()):
                message = f"{name}: stopped while it was starting; run the same command again"
                raise StoppedError(message, number) from None
            raise

    def meta(self, data: Mapping[str, object], array: object) -> dict[str, object]:
        """Return the keys that the ``meta.json`` of all kinds of jobs have."""
        backend, block = backend_name(array), {"block": self.block} if self.block else {}
        return provenance.collect() | {
            "settings": self.settings.model_dump(mode="json"),
            "scale": self.scale,
            "code": self.code,
            "data": data,
            "backend": backend,
            "backend_products": "library" if backend == "numpy" else ways.requested(),
            "threads": self.threads,
            "seed": self.settings.seed,
            **block,
        }


class JobKind(ABC):
    """Base class of the kinds of jobs; a kind is named after its module, and so is its subcommand."""

    Settings: type[Settings]  # of a job
    folder: str  # of the jobs in the results of a scale
    files: tuple[str, ...]  # of a job besides meta.json
    rule: str  # name of the rule of the workflow
    infix: str  # word in the ids of jobs, NAME-INFIX-DIGEST; empty for training runs
    title: str  # noun of a job, such as "certificate"
    inputs: tuple[str, ...] = ("data", "model")  # attributes of `Task` that must be given
    takes_gpu = False

    @property
    def name(self) -> str:
        """The name of the kind."""
        return type(self).__module__.rpartition(".")[2]

    @abstractmethod
    def compute(self, task: Task) -> None:
        """Compute a job, and write its folder."""

    @abstractmethod
    def work(self, settings: Settings, sizes: Sizes, pilot: bool = False) -> Work:
        """Return the operations and the memory of a job.

        With ``pilot``, a short computation may be made for a cost that does not follow from settings and sizes.
        """

    def parts(self, settings: Settings, sizes: Sizes) -> tuple[int, int]:
        """Return the numbers of trials, and of equal parts of a trial, that blocks of a job can be made of.

        Parts do not depend on each other, and are counted trial by trial. By default there is one: the whole job.
        """
        return 1, 1

    def of_any_trials(self, settings: Settings) -> Settings:
        """Return the settings without the number of trials: blocks are named after them."""
        return settings

    def gather(self, task: Task, folders: Sequence[Path]) -> None:
        """Join the blocks of a job, in their order, into its folder: the files of the job computed at once."""
        raise NotImplementedError

    def _write(self, task: Task, files: Mapping[str, object], meta: Mapping[str, object]) -> None:
        for name in self.files:
            write = results.write_table if isinstance(files[name], pd.DataFrame) else results.write_arrays
            write(task.out / name, files[name])
        results.write_meta(task.out, self.files, meta)

    def reduced(self, settings: Settings, values: dict[str, Any]) -> dict[str, object]:
        """Return settings of a probe, see `rbmbench.jobs.probes`, in place of ``values``, those with small numbers."""
        return {}

    @abstractmethod
    def probe(self, settings: Settings, visible: int, hidden: int, precision: str) -> Arrays:
        """Return the arrays that describe the code of a job: those of a small one."""


class Results(NamedTuple):
    """Files of a measurement, tables or named arrays; and further keys of its ``meta.json``."""

    files: Mapping[str, pd.DataFrame | Mapping[str, object]]
    meta: Mapping[str, object] = {}


class Measurement(JobKind):
    """Base class of the kinds of jobs that measure the models of a training run, or random ones."""

    model_axes: Mapping[str, int] = MappingProxyType({})
    """Axes of the models in arrays, by their names; other arrays describe the first model alone."""
    alternates = False
    """Whether a row of a table is followed by that of the next model; else by the next row of the same model."""

    def parts(self, settings, sizes):
        """See `JobKind`. By default each trial is a part."""
        return sizes.trials, 1

    @abstractmethod
    def measure(
        self,
        task: Task,
        rbm: RBM | None,
        dataset: datasets.Dataset | None,
        progress: Progress,
        checkpointer: Checkpointer,
    ) -> Results:
        """Return the results; ``rbm`` has one replica per trial, and is None if no model is read."""

    def compute(self, task: Task) -> None:
        task.code = fingerprint(task.settings)
        rbm = dataset = None
        if "data" in self.inputs:
            dataset = datasets.read(task.data)
        if "model" in self.inputs:
            arrays = results.read_model(task.model)
            check_width(arrays["W"], dataset, task.model)
            rbm = RBM(arrays["W"], arrays["b"], arrays["c"])
        trials, parts = self.parts(task.settings, Sizes(trials=len(rbm.W) if rbm else 1))
        task.check_block(trials * parts)
        with task.owned(self.files):
            with task.resumable() as (checkpointer, progress):
                measured = self.measure(task, rbm, dataset, progress, checkpointer)
            meta = task.meta(dataset.provenance if dataset else {}, rbm.W if rbm else np.empty(0))
            total = checkpointer.earlier + provenance.seconds_since_start()
            meta["wall"] = spent(checkpointer, "measuring") | {"total_seconds": total}
            if rbm:
                meta |= {"run": task.model.name, "trials": len(rbm.W), "hidden": rbm.hidden_units}
            self._write(task, measured.files, meta | {"job": self.name} | measured.meta)

    def gather(self, task, folders):
        gather_file = {".parquet": self._gathered_table, ".npz": self._gathered_arrays}
        files = {name: gather_file[Path(name).suffix](folders, name) for name in self.files}
        metas = [results.read_meta(folder) for folder in folders]
        self._write(task, files, gathered_meta(task, metas) | self.gathered(metas))

    def gathered(self, metas: Sequence[Mapping[str, Any]]) -> dict[str, object]:
        """Return the further keys of ``meta.json`` that differ between blocks, from those of the blocks."""
        return {}

    def _gathered_table(self, folders: Sequence[Path], name: str) -> pd.DataFrame:
        table = pd.concat([results.read_table(folder, name) for folder in folders], ignore_index=True)
        if not self.alternates:
            return table
        row = table.groupby("trial").cumcount()
        return table.iloc[np.lexsort((table["trial"], row))].reset_index(drop=True)

    def _gathered_arrays(self, folders: Sequence[Path], name: str) -> Arrays:
        blocks = [results.read_arrays(folder / name, self.model_axes) for folder in folders]
        joined = {key: np.concatenate([block[key] for block in blocks], axis) for key, axis in self.model_axes.items()}
        return blocks[0] | joined


def gathered_meta(task: Task, metas: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """Return the ``meta.json`` of a job from those of its blocks: times are summed, and each block is named."""
    blocks = [{key: meta.get(key) for key in OF_BLOCK} for meta in metas]
    common = {key: value for key, value in metas[0].items() if key != "block"}
    wall = {name: sum(meta["wall"].get(name, 0.0) for meta in metas) for name in metas[0]["wall"]}
    return common | {
        "settings": task.settings.model_dump(mode="json"),
        "scale": task.scale,
        "started": min(meta["started"] for meta in metas),
        "finished": max(meta["finished"] for meta in metas),
        "peak_memory_mb": max(meta["peak_memory_mb"] for meta in metas),
        "wall": wall,
        "blocks": blocks,
    }


def check_width(models: np.ndarray, dataset: datasets.Dataset, folder: Path) -> None:
    """Raise a `DataError` if weights (..., m, n) and data set differ in the number of visible units."""
    units, expected = models.shape[-2], dataset.train.shape[1]
    if units != expected:
        raise DataError(
            f"{folder}: model.npz: must have {expected} visible units, as the data set {dataset.name!r}, got {units}"
        )


def spent(checkpointer: Checkpointer, stage: str) -> dict[str, float]:
    """Return wall-clock and processor seconds of a computation, with keys for its stage."""
    clock, processor = checkpointer.spent()
    return {f"{stage}_seconds": clock, f"{stage}_cpu_seconds": processor}
