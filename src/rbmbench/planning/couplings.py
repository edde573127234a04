"""Figures of the stopping times of coupled chains."""

from rbmbench.base.settings import CouplingSettings
from rbmbench.config.paper import CouplingTimes, Paper
from rbmbench.planning.jobs import CoupledChains, Plan, Result, derived_seed
from rbmbench.planning.runs import heading

__all__ = ["coupling_times"]


def coupling_times(
    result: Plan, paper: Paper, base: Paper, key: str, figure: CouplingTimes, published: CouplingTimes | None
) -> Result:
    """Return a figure of stopping times, its chains added to the plan; all couplings have one model and one start."""
    sizes = figure.model_dump(include={"visible", "hidden", "width", "replications", "longest"})
    seed = derived_seed(paper.defaults.seed, "couplings", figure.visible, figure.hidden)
    chains = []
    for coupling in figure.couplings:
        settings = CouplingSettings(**sizes, coupling=coupling, seed=seed)
        identity = f"{figure.visible}v-{figure.hidden}h-{coupling}-couple-{settings.digest()}"
        chains.append(result.couplings.setdefault(identity, CoupledChains(identity, settings)))
    spec = heading(result, paper, key, figure) | sizes
    spec |= {f"paper_{name}": published and getattr(published, name) for name in ("replications", "longest")}
    folders = [{"coupling": one.settings.coupling, "folder": result.coupling_folder(one.id)} for one in chains]
    ids = tuple(one.id for one in chains)
    return Result(key, paper.key, figure.kind, spec | {"couplings": folders}, couplings=ids)
