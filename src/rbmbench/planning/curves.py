"""Figures of learning curves, and tables of what their runs took."""

from typing import Any

from rbmbench.base.metrics import ANNEALED
from rbmbench.config.paper import FigurePanel, LearningCurves, Panel, Paper, RunTimes
from rbmbench.planning.jobs import Plan, Result, Run, unique
from rbmbench.planning.runs import heading, labelled, planned_evaluation, planned_runs, trained

__all__ = ["learning_curves", "run_times"]


def learning_curves(
    result: Plan, paper: Paper, base: Paper, key: str, figure: LearningCurves, published: LearningCurves | None
) -> Result:
    """Return a figure of learning curves, its runs added to the plan."""
    panels, runs, evaluations, data = [], [], [], []
    for name, panel in figure.panels.items():
        of_panel = planned_runs(result, paper, panel, paper.algorithms_of(figure, panel))
        annealed = set(panel.metric) & set(ANNEALED)
        evaluated = {
            a: planned_evaluation(result, paper, panel, run) if annealed else None for a, run in of_panel.items()
        }
        folders = {
            a: result.evaluation_folder(evaluated[a].id) if evaluated[a] else result.run_folder(run.id)
            for a, run in of_panel.items()
        }
        runs += [run.id for run in of_panel.values()]
        evaluations += [evaluation.id for evaluation in evaluated.values() if evaluation]
        data += [panel.data] if panel.references else []
        as_published = published.panels.get(name) if published else None
        panels.append(
            {
                "name": name,
                **trained(paper, base, panel, as_published, of_panel),
                **_annealing(base, panel, as_published, list(evaluated.values())),
                **_shown(result, panel),
                "without": _without(base, published, as_published, of_panel) if as_published else [],
                "epoch": _epoch(paper, panel, of_panel) if figure.counted_in == "epochs" else None,
                "runs": labelled(paper, folders),
            }
        )
    spec = heading(result, paper, key, figure) | {"band": figure.band.model_dump(mode="json"), "panels": panels}
    return Result(key, paper.key, figure.kind, spec, unique(runs), evaluations=unique(evaluations), data=unique(data))


def _annealing(base: Paper, panel: Panel, published: Panel | None, evaluated: list) -> dict[str, Any]:
    """Return what the spec of a panel says of its annealing and the paper's; nothing where log Z is exact."""
    if not evaluated[0]:
        return {}
    settings = evaluated[0].settings
    paper_budget = published and (published.annealing or base.defaults.annealing)
    return {
        "annealing": settings.model_dump(include={"particles", "temperatures"}),
        "paper_annealing": paper_budget and paper_budget.model_dump(include={"particles", "temperatures"}),
    }


def _shown(result: Plan, panel: FigurePanel) -> dict[str, Any]:
    """Return what a spec says of what a panel shows."""
    axes = {"axis": panel.axis, "iteration_axis": panel.iteration_axis}
    shown = {"metrics": list(panel.metric), **axes, "references": list(panel.references), "mark": panel.mark}
    shown |= {"batch": panel.batch, "initial": panel.initial and panel.initial.model_dump()}
    return shown | ({"data_file": result.data_file(panel.data)} if panel.references else {})


def _without(base: Paper, published: LearningCurves, panel: FigurePanel, runs: dict[str, Run]) -> list[str]:
    """Return the labels of the paper's curves that a panel lacks."""
    asked = base.algorithms_of(published, panel)
    return [base.algorithms[name].label for name in asked if name not in runs]


def _epoch(paper: Paper, panel: FigurePanel, runs: dict[str, Run]) -> int:
    """Return the iterations of an epoch, which all runs of a panel share."""
    return paper.data[panel.data].rows // next(iter(runs.values())).settings.batch


def run_times(result: Plan, paper: Paper, base: Paper, key: str, table: RunTimes, published: RunTimes | None) -> Result:
    """Return a table of run times; the runs of its panel, and the evaluation of the reference, added to the plan."""
    figure, panel = paper.timed_panel(table)
    runs = planned_runs(result, paper, panel, table.algorithms or paper.algorithms_of(figure, panel))
    evaluation = planned_evaluation(result, paper, panel, runs[table.reference])
    timed = base.timed_panel(published) if published else None
    spec = heading(result, paper, key, table) | {"panel": table.panel, "reference": table.reference}
    spec |= trained(paper, base, panel, timed and timed[1], runs)
    spec["evaluate_every"] = panel.evaluate_every or paper.defaults.evaluate_every
    spec["runs"] = labelled(paper, {a: result.run_folder(run.id) for a, run in runs.items()})
    spec["evaluation"] = evaluation and {"folder": result.evaluation_folder(evaluation.id)}
    evaluations = (evaluation.id,) if evaluation else ()
    return Result(key, paper.key, table.kind, spec, tuple(run.id for run in runs.values()), evaluations=evaluations)
