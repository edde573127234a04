"""Figures of streams of samples: how well they cover, and how they look."""

from typing import Any

from rbmbench.base.settings import SamplingSettings
from rbmbench.config.paper import IslCurves, Paper, SampleSheets, SamplesPanel
from rbmbench.planning.jobs import Plan, Result, Run, Samples, derived_seed, digest_of, unique
from rbmbench.planning.runs import heading, labelled, planned_run, trained

__all__ = ["isl_curves", "sample_sheets"]


def isl_curves(
    result: Plan, paper: Paper, base: Paper, key: str, figure: IslCurves, published: IslCurves | None
) -> Result:
    """Return a figure of sampling likelihoods, its runs and samples added to the plan."""
    panels, runs, samples = [], [], []
    for name, panel in figure.panels.items():
        run, drawn = _samples(result, paper, panel)
        runs.append(run.id)
        samples.append(drawn.id)
        as_published = published.panels.get(name) if published else None
        panels.append({"name": name, **_sampled(result, paper, base, panel, as_published, run, drawn)})
    spec = heading(result, paper, key, figure) | {"panels": panels}
    return Result(key, paper.key, figure.kind, spec, unique(runs), samples=unique(samples))


def sample_sheets(
    result: Plan, paper: Paper, base: Paper, key: str, figure: SampleSheets, published: SampleSheets | None
) -> Result:
    """Return a figure of sheets of samples; the run and the samples of its panel added to the plan."""
    panel = paper.sampled_panel(figure)
    run, drawn = _samples(result, paper, panel)
    as_published = base.sampled_panel(published) if published else None
    shown = _sampled(result, paper, base, panel, as_published, run, drawn)
    chosen = figure.samplers or panel.samplers or tuple(paper.samplers)
    shown["samplers"] = [one for name in chosen for one in shown["samplers"] if one["sampler"] == name]
    spec = heading(result, paper, key, figure) | {"columns": figure.columns, "lines": figure.lines}
    spec |= {"panels": [{"name": figure.panel.rpartition(".")[2], **shown}]}
    return Result(key, paper.key, figure.kind, spec, (run.id,), samples=(drawn.id,))


def _samples(result: Plan, paper: Paper, panel: SamplesPanel) -> tuple[Run, Samples]:
    """Return the run that trains the models of a panel and the streams of samples, added to the plan.

    All samples of one data set and size have one seed: chains of one model start at the same rows.
    """
    run = planned_run(result, paper, panel, panel.algorithm, panel.trials or paper.defaults.trials)
    names = panel.samplers or tuple(paper.samplers)
    settings = SamplingSettings(
        samplers={name: paper.samplers[name].grid_of_settings for name in names},
        seed=derived_seed(paper.defaults.seed, "samples", panel.data, panel.hidden),
        **panel.model_dump(include={"samples", "points", "rows", "shown"}),
    )
    identity = f"{run.id.rpartition('-')[0]}-samples-{digest_of(run.id, settings.canonical())}"
    return run, result.samples.setdefault(identity, Samples(identity, run.id, settings))


def _sampled(
    result: Plan,
    paper: Paper,
    base: Paper,
    panel: SamplesPanel,
    published: SamplesPanel | None,
    run: Run,
    drawn: Samples,
) -> dict[str, Any]:
    """Return what a spec says of the training and the samples of a panel, and of the paper's."""
    samplers = [{"sampler": name, "label": paper.samplers[name].label} for name in drawn.settings.samplers]
    return {
        **trained(paper, base, panel, published, (panel.algorithm,)),
        "samples_count": panel.samples,
        "paper_samples": published and published.samples,
        "runs": labelled(paper, {panel.algorithm: result.run_folder(run.id)}),
        "samples": {"folder": result.sample_folder(drawn.id)},
        "samplers": samplers,
    }
