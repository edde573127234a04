# SPDX-License-Identifier: BSD-3-Clause
"""Planning common to kinds of figures and tables: runs, evaluations, and their entries in specs."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rbmbench.base.settings import (
    AnnealingSettings,
    CertificateBudget,
    CertificateSettings,
    Choice,
    RunSettings,
    Settings,
    Stage,
    TimingSettings,
)
from rbmbench.config.paper import Paper
from rbmbench.config.parts import Algorithm, Panel
from rbmbench.jobs import of_name
from rbmbench.likelihood.exact import is_enumerable
from rbmbench.planning.jobs import Job, Output, Plan, derived_seed, digest_of, title_of_data, unique
from rbmbench.planning.specs import Shown

Parts = Mapping[tuple[str, ...], tuple[Job, ...]]
SHOWN = {"label", "color", "dash"}  # keys of an algorithm or a sampler that figures use


@dataclass(frozen=True)
class Planner:
    """Adds jobs of one paper to a plan."""

    plan: Plan
    paper: Paper  # the paper as it is run at this scale, or with its published settings
    shared: dict[Any, Any] = field(default_factory=dict)
    """Shared by figures: contests by the identity of their figure, compared settings by job and algorithm."""

    def output(self, spec: Shown, parts: Parts, settings: Mapping[str, Mapping[str, object]] | None = None) -> Output:
        """Return a figure or a table with the jobs of its parts; see `Output`."""
        return Output(spec, unique(job.id for jobs in parts.values() for job in jobs), parts, settings or {})

    def heading(self, key: str, item: Any) -> dict[str, object]:
        """Return the common part of the specs of figures and tables."""
        of_kind = {"title": item.title, "kind": item.kind, "reading": item.reading}
        return {"key": key, "paper": self.paper.key, "scale": self.plan.scale} | of_kind

    def seed(self, *purpose: object) -> int:
        """Return the seed for one purpose, derived from the paper's."""
        return derived_seed(self.paper.defaults.seed, *purpose)

    def settings(self, panel: Panel, algorithm: str, trials: int | None = None) -> RunSettings:
        """Return the settings of the run of one algorithm on one panel.

        All algorithms and rates of one data set and size have one seed: the same initial parameters and mini-batches.
        """
        entry, defaults, recipe = self.paper.data[panel.data], self.paper.defaults, self.paper.algorithms[algorithm]
        shared = ("initial", "evaluate_every", "evaluate_at", "proxy", "bias_bound")
        shared += ("validation_likelihood", "test_likelihood")
        names = (*shared, "products", "evaluate_at_products")
        of_panel = {name: value for name in names if (value := getattr(panel, name)) is not None}
        of_panel |= {"initial": recipe.initial} if recipe.initial else {}
        return RunSettings(
            **{name: getattr(defaults, name) for name in (*shared, "precision")} | of_panel,
            data=Choice(name=entry.name, options=entry.options),
            hidden=panel.hidden,
            batch=panel.batch or entry.batch,
            schedule=schedule_of(recipe, panel),
            trials=trials or min(self.trials(panel), recipe.trials or math.inf),
            seed=self.seed("train", panel.data, panel.hidden),
        )

    def run(self, panel: Panel, algorithm: str, trials: int | None = None) -> Job:
        """Return the run of one algorithm on one panel, added to the plan.

        Algorithms that train alike share a run, named after the first one.
        """
        settings = self.settings(panel, algorithm, trials)
        rate, digest = settings.schedule[0].rate if len(settings.schedule) == 1 else panel.rate, settings.digest()
        first_name = f"{panel.data}-{panel.hidden}h-{algorithm}-{rate:g}-{digest}"
        identity = self.plan.run_ids.setdefault((panel.data, digest), first_name)
        rates = "/".join(dict.fromkeys(f"{stage.rate:g}" for stage in settings.schedule))
        title = f"{self.paper.algorithms[algorithm].label}, {self.trained_on(panel)}, rate {rates}"
        return self.plan.add(Job(identity, "train", settings, panel.data, title=title))

    def timing(self, panel: Panel, algorithms: Iterable[str], rounds: int, seconds: float) -> Job:
        """Return the job that times algorithms of one stage on one panel side by side, added to the plan.

        All of them begin with the initial parameters of the first one.
        """
        runs = {algorithm: self.settings(panel, algorithm, self.trials(panel)) for algorithm in algorithms}
        steps = {algorithm: run.schedule[0].model_dump(exclude={"until"}) for algorithm, run in runs.items()}
        common = next(iter(runs.values())).model_dump(include=set(TimingSettings.model_fields))
        settings = TimingSettings(**common, algorithms=steps, rounds=rounds, seconds=seconds)
        identity = f"{panel.data}-{panel.hidden}h-times-{settings.digest()}"
        title = f"{of_name('timing').title} of {len(runs)} algorithms, {self.trained_on(panel)}"
        return self.plan.add(Job(identity, "timing", settings, panel.data, title=title))

    def trained_on(self, panel: Panel) -> str:
        """Return data set and hidden units of a panel, for titles of jobs."""
        return f"{title_of_data(self.paper.data[panel.data])}, {panel.hidden} hidden"

    def runs(self, panel: Panel, algorithms: Iterable[str]) -> dict[str, Job]:
        """Return the runs of a panel by their algorithms, added to the plan."""
        return {algorithm: self.run(panel, algorithm) for algorithm in algorithms}

    def evaluation(self, panel: Panel, run: Job) -> Job | None:
        """Return the evaluation of a run whose likelihood cannot be enumerated, added to the plan; else None.

        All runs of a panel have one seed: similar models then have similar errors of annealing.
        """
        if is_enumerable(self.paper.data[panel.data].visible, panel.hidden):
            return None
        budget = panel.annealing or self.paper.defaults.annealing
        settings = AnnealingSettings(seed=self.seed("annealing", panel.data, panel.hidden), **budget.model_dump())
        return self.measured("evaluate", f"{run.id.rpartition('-')[0]}-ais", run, settings)

    def certificate(self, panel: Panel, run: Job, budget: CertificateBudget, first_model: int) -> Job:
        """Return the certificate of models of a run, from ``first_model`` on, added to the plan."""
        seed = self.seed("certificate", panel.data, panel.hidden)
        settings = CertificateSettings(**budget.model_dump(), first_model=first_model, seed=seed)
        return self.measured("certificate", f"{run.id.rpartition('-')[0]}-certificate", run, settings)

    def measured(
        self, kind: str, name: str, run: Job, settings: Settings, needs: tuple[str, ...] = (), title: str = ""
    ) -> Job:
        """Return the job NAME-DIGEST of a kind, which measures the models of a run, added to the plan.

        ``needs`` are the ids of further jobs that it reads. The default title combines those of the kind and the run.
        """
        identity = f"{name}-{digest_of(run.id, settings.canonical(), *needs)}"
        title = title or f"{of_name(kind).title} of {run.title}"
        return self.plan.add(Job(identity, kind, settings, run.data, run.id, needs, title))

    def trained(self, panel: Panel) -> dict[str, object]:
        """Return the settings of training of a panel, for its spec: `planning.specs.Trained`."""
        settings = panel.model_dump(include={"data", "hidden", "rate", "iterations"})
        return settings | {"trials": self.trials(panel)}

    @staticmethod
    def rates(runs: Mapping[str, Job]) -> tuple[float, ...]:
        """Return the learning rates of runs, each once, at first if they change; algorithms may have their own."""
        return tuple(dict.fromkeys(run.settings.schedule[0].rate for run in runs.values()))

    def trials(self, panel: Panel) -> int:
        """Return the trials of a panel; runs of an algorithm may have fewer, see `config.parts.Algorithm`."""
        return panel.trials or self.paper.defaults.trials

    def labelled(self, folders: Mapping[str, str]) -> list[dict[str, object]]:
        """Return the runs of a panel for its spec, from their folders by algorithm."""
        labels = {name: self.paper.algorithms[name].model_dump(include=SHOWN) for name in folders}
        return [{"algorithm": name, "folder": folder} | labels[name] for name, folder in folders.items()]


def schedule_of(algorithm: Algorithm, panel: Panel) -> tuple[Stage, ...]:
    """Return the stages of an algorithm; the panel has the last iteration, and the rate of stages without one."""
    return tuple(
        Stage(
            until=stage.until or panel.iterations,
            estimator=Choice(name=stage.estimator, options=stage.options),
            update=stage.update,
            rate=stage.rate or panel.rate,
        )
        for stage in algorithm.stages
    )
