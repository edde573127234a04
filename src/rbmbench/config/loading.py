"""Read and check the configuration before any work starts: every mistake is one line naming file and key."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbmbench.base.errors import SettingsError, unknown_name
from rbmbench.base.parsing import parse
from rbmbench.base.registry import Registry
from rbmbench.config.paper import (
    AlgorithmStage,
    BiasVariance,
    IslCurves,
    LearningCurves,
    MainConfig,
    Panel,
    Paper,
    RunTimes,
    SampleSheets,
)
from rbmbench.io.guard import UnreadableError, bounded_bytes
from rbmbench.io.text import MOST_YAML_BYTES, plain_yaml

__all__ = ["Configuration", "Layers", "load", "merged", "read_yaml"]


@dataclass(frozen=True)
class Configuration:
    """All settings of one scale.

    Attributes
    ----------
    main : MainConfig
    papers : tuple of Paper
        Each paper as it is run.
    published : mapping of str to Paper
        Each paper without the overrides, by its key.
    published_tables : mapping
        By the papers' keys, then by table: the printed numbers, from ``config/claims/KEY.yaml``.
    """

    main: MainConfig
    papers: tuple[Paper, ...]
    published: Mapping[str, Paper]
    published_tables: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Layers:
    """The mappings that values were merged from, each with the place it stands at, later ones winning."""

    parts: tuple[tuple[str, Mapping[str, Any]], ...]

    def place(self, location: tuple) -> str:
        """Return the place of the last layer that holds ``location``, or else most of it."""
        return max(enumerate(self.parts), key=lambda part: (_depth(part[1][1], location), part[0]))[1][0]

    def refuse(self, location: tuple, message: str) -> SettingsError:
        """Return the error for what stands at ``location``."""
        return SettingsError(f"{self.place(location)}: {'.'.join(map(str, location))}: {message}")


def load(files: Iterable[str | Path], config: Mapping[str, Any] | None = None) -> Configuration:
    """Return the checked configuration.

    Parameters
    ----------
    files : iterable of path
        config.yaml first, then its overlays. The papers are read from ``papers/`` beside the first.
    config : mapping, optional
        The merged values, where they are known already (Snakemake adds ``--config``); by default the files' own.

    Raises
    ------
    SettingsError
        For the first value that is not allowed.
    """
    files = [Path(file) for file in files]
    layers = [(str(file), read_yaml(file)) for file in files]
    values = merged(*(values for _, values in layers)) if config is None else config
    main = parse(MainConfig, values, Layers(tuple(layers)).place)
    unknown = [key for key in main.overrides if key not in main.papers]
    if unknown:
        message = unknown_name("paper", unknown[0], main.papers)
        raise Layers(tuple(layers)).refuse(("overrides", unknown[0]), message)
    published, papers = {}, []
    for key in main.papers:
        file = files[0].parent / "papers" / f"{key}.yaml"
        if not file.is_file():
            known = sorted(path.stem for path in file.parent.glob("*.yaml"))
            raise Layers(tuple(layers)).refuse(("papers",), unknown_name("paper", key, known))
        paper_layers = [(str(file), read_yaml(file))]
        published[key] = _paper(key, Layers(tuple(paper_layers)), paper_layers[0][1])
        paper_layers += [
            (f"{name}: overrides.{key}", over)
            for name, layer in layers
            if isinstance(over := (layer.get("overrides") or {}).get(key), dict)
        ]
        values = _without_nulls(merged(paper_layers[0][1], main.overrides.get(key, {})), paper_layers[0][1])
        papers.append(_paper(key, Layers(tuple(paper_layers)), values))
    tables = {key: _published_tables(files[0].parent / "claims" / f"{key}.yaml") for key in main.papers}
    return Configuration(main, tuple(papers), published, tables)


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Return the mapping a YAML file holds.

    Raises
    ------
    SettingsError
        If the file is missing, is not YAML, or holds no mapping.
    """
    try:
        values = plain_yaml(bounded_bytes(path, MOST_YAML_BYTES))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror})") from None
    except UnreadableError as error:
        raise SettingsError(f"{path}: is not YAML, or not plain ({error})") from None
    if not isinstance(values, dict):
        raise SettingsError(f"{path}: holds a {type(values).__name__}; should be a mapping of keys")
    return values


def merged(*mappings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the deep merge of mappings, later ones winning; lists are replaced, not joined.

    Where a later mapping has another ``name``, the options of what had the first name go with it.
    """
    result: dict[str, Any] = {}
    for mapping in mappings:
        for key, value in mapping.items():
            old = result.get(key)
            both = isinstance(value, Mapping) and isinstance(old, Mapping)
            if both and value.get("name", old.get("name")) != old.get("name"):
                old = {name: kept for name, kept in old.items() if name != "options"}
            result[key] = merged(old, value) if both else value
    return result


def _without_nulls(values: dict[str, Any], published: Mapping[str, Any]) -> dict[str, Any]:
    """Return a paper's values less the panels and rows that it has and an overlay leaves out by a null."""
    for kind, parts in (("figures", "panels"), ("tables", "rows")):
        for name, item in (values.get(kind) or {}).items():
            known = (published.get(kind, {}).get(name) or {}).get(parts, {})
            if isinstance(item, dict) and isinstance(item.get(parts), dict):
                item[parts] = {key: one for key, one in item[parts].items() if one is not None or key not in known}
    return values


def _published_tables(file: Path) -> Mapping[str, Any]:
    """Return the numbers a paper prints in its tables."""
    if not file.is_file():
        raise SettingsError(f"{file}: is missing; a paper without claims yet has a file with the line 'claims: []'")
    tables = read_yaml(file).get("published_tables")
    if tables is not None and not isinstance(tables, dict):
        raise SettingsError(f"{file}: published_tables: found a {type(tables).__name__}; should be a mapping of tables")
    return tables or {}


def _depth(values: Any, location: tuple) -> int:
    """Return how many parts of ``location`` can be followed into ``values``."""
    for depth, part in enumerate(location):
        try:
            values = values[part]
        except (KeyError, IndexError, TypeError):
            return depth
    return len(location)


def _paper(key: str, layers: Layers, values: Mapping[str, Any]) -> Paper:
    """Return the checked settings of one paper."""
    paper = parse(Paper, values, layers.place)
    if paper.key != key:
        raise layers.refuse(("key",), f"found {paper.key!r}; should be {key!r}, as the file is named")
    _check_parts(paper, layers)
    for name, figure in paper.figures.items():
        if isinstance(figure, LearningCurves):
            _check_curves(paper, figure, ("figures", name), layers)
        elif isinstance(figure, IslCurves):
            _check_samples(paper, figure, ("figures", name), layers)
        elif isinstance(figure, SampleSheets):
            _check_sheets(paper, figure, ("figures", name), layers)
    for name, table in paper.tables.items():
        if isinstance(table, BiasVariance):
            _check_bias_variance(paper, table, ("tables", name), layers)
        else:
            _check_run_times(paper, table, ("tables", name), layers)
    return paper


def _check_parts(paper: Paper, layers: Layers) -> None:
    """Refuse unknown data sets, estimators and update rules, wrong options, and batches larger than the data."""
    from rbmbench import datasets, estimators, samplers, updates

    for name, entry in paper.data.items():
        _check_part(datasets.REGISTRY, entry.name, entry.options, ("data", name), layers)
        if entry.batch > entry.rows:
            message = f"found {entry.batch}; a batch has at most as many rows as the data set, {entry.rows}"
            raise layers.refuse(("data", name, "batch"), message)
    for name, algorithm in paper.algorithms.items():
        for number, stage in enumerate(algorithm.stages):
            location = ("algorithms", name, *(("schedule", number) if algorithm.schedule else ()))
            _check_part(estimators.REGISTRY, stage.estimator, stage.options, location, layers)
            _check_part(updates.REGISTRY, stage.update.name, stage.update.options, location, layers)
            _check_update(stage, location, layers)
    for name, entry in paper.samplers.items():
        for options in entry.grid_of_settings.settings:
            _check_part(samplers.REGISTRY, entry.sampler, options, ("samplers", name), layers)


def _check_update(stage: AlgorithmStage, location: tuple, layers: Layers) -> None:
    """Refuse an update rule that cannot be used with the estimator of its stage."""
    from rbmbench import estimators, updates

    try:
        rule = updates.REGISTRY.create(stage.update.name, stage.update.options)
        rule.check(estimators.REGISTRY.create(stage.estimator, stage.options))
    except SettingsError as error:
        raise layers.refuse((*location, "update"), str(error)) from None


def _check_curves(paper: Paper, figure: LearningCurves, location: tuple, layers: Layers) -> None:
    """Refuse a figure of learning curves with unknown algorithms or data, or panels that cannot be run."""
    _check_algorithms(paper, figure.algorithms or (), (*location, "algorithms"), layers)
    for letter, panel in figure.panels.items():
        place = (*location, "panels", letter)
        _check_algorithms(paper, panel.algorithms or (), (*place, "algorithms"), layers)
        _check_panel(paper, panel, paper.algorithms_of(figure, panel), place, layers)


def _check_samples(paper: Paper, figure: IslCurves, location: tuple, layers: Layers) -> None:
    """Refuse a figure of sampling likelihoods with unknown algorithms, samplers or data, or panels that cannot run."""
    for letter, panel in figure.panels.items():
        place = (*location, "panels", letter)
        _check_algorithms(paper, (panel.algorithm,), (*place, "algorithm"), layers)
        _check_samplers(paper.samplers, panel.samplers or (), (*place, "samplers"), layers)
        _check_panel(paper, panel, (panel.algorithm,), place, layers)


def _check_sheets(paper: Paper, figure: SampleSheets, location: tuple, layers: Layers) -> None:
    """Refuse sheets of an unknown panel, of samplers that it has not, or of more samples than are kept."""
    if (panel := paper.sampled_panel(figure)) is None:
        curves = {name: one for name, one in paper.figures.items() if isinstance(one, IslCurves)}
        known = [f"{name}.{letter}" for name, one in curves.items() for letter in one.panels]
        raise layers.refuse((*location, "panel"), unknown_name("panel", figure.panel, known))
    _check_samplers(panel.samplers or paper.samplers, figure.samplers or (), (*location, "samplers"), layers)
    if figure.columns * figure.lines > (kept := min(panel.shown, panel.samples)):
        message = f"found {figure.columns} x {figure.lines} images; allowed: at most the {kept} samples that are kept"
        raise layers.refuse((*location, "columns"), message)


def _check_samplers(known: Iterable[str], names: Iterable[str], location: tuple, layers: Layers) -> None:
    """Refuse samplers that are not among the known ones."""
    for name in names:
        if name not in known:
            raise layers.refuse(location, unknown_name("sampler", name, known))


def _check_bias_variance(paper: Paper, table: BiasVariance, location: tuple, layers: Layers) -> None:
    """Refuse a table of bias and variance with unknown algorithms or data, or rows that cannot be run."""
    _check_algorithms(paper, table.estimators, (*location, "estimators"), layers)
    _check_algorithms(paper, (table.trained_with,), (*location, "trained_with"), layers)
    for name in table.estimators:
        if len(stages := paper.algorithms[name].stages) > 1:
            message = f"found {name!r}, a schedule of {len(stages)} stages; should be algorithms of one estimator"
            raise layers.refuse((*location, "estimators"), message)
    for name, row in table.rows.items():
        _check_panel(paper, row, (table.trained_with,), (*location, "rows", name), layers)


def _check_run_times(paper: Paper, table: RunTimes, location: tuple, layers: Layers) -> None:
    """Refuse a table of run times of an unknown panel, or whose reference is not among its algorithms."""
    if (timed := paper.timed_panel(table)) is None:
        curves = {name: figure for name, figure in paper.figures.items() if isinstance(figure, LearningCurves)}
        known = [f"{name}.{letter}" for name, figure in curves.items() for letter in figure.panels]
        raise layers.refuse((*location, "panel"), unknown_name("panel", table.panel, known))
    _check_algorithms(paper, table.algorithms or (), (*location, "algorithms"), layers)
    names = table.algorithms or paper.algorithms_of(*timed)
    if table.reference not in names:
        raise layers.refuse((*location, "reference"), unknown_name("algorithm of the table", table.reference, names))
    _check_schedules(paper, timed[1], names, location, layers)


def _check_part(registry: Registry, name: str, options: Mapping[str, Any], location: tuple, layers: Layers) -> None:
    """Refuse a part that its registry refuses; nothing is loaded or computed."""
    try:
        registry.create(name, options)
    except SettingsError as error:
        raise layers.refuse(location, str(error)) from None


def _check_algorithms(paper: Paper, names: Iterable[str], location: tuple, layers: Layers) -> None:
    """Refuse algorithms the paper's file does not define."""
    for name in names:
        if name not in paper.algorithms:
            raise layers.refuse(location, unknown_name("algorithm", name, paper.algorithms))


def _check_panel(paper: Paper, panel: Panel, algorithms: Iterable[str], location: tuple, layers: Layers) -> None:
    """Refuse unknown data, schedules or proxies that do not fit, and sizes that are too large for what is asked."""
    from rbmbench.training.evaluation import check_snapshots_fit

    if panel.data not in paper.data:
        raise layers.refuse((*location, "data"), unknown_name("data set", panel.data, paper.data))
    _check_schedules(paper, panel, algorithms, location, layers)
    _check_sizes(paper, panel, algorithms, location, layers)
    proxy, rows = panel.proxy or paper.defaults.proxy, paper.data[panel.data].rows
    if panel.batch and panel.batch > rows:
        message = f"found {panel.batch}; a batch has at most as many rows as the data set, {rows}"
        raise layers.refuse((*location, "batch"), message)
    if proxy and proxy.rows and proxy.rows > rows:
        message = f"found {proxy.rows}; allowed: at most as many rows as the data set has, {rows}"
        raise layers.refuse((*location, "proxy", "rows"), message)
    size = paper.data[panel.data].visible, panel.hidden, panel.trials or paper.defaults.trials
    try:
        check_snapshots_fit(*size, panel.iterations, panel.evaluate_every or paper.defaults.evaluate_every)
    except SettingsError as error:
        raise layers.refuse(location, str(error)) from None


def _check_sizes(paper: Paper, panel: Panel, names: Iterable[str], location: tuple, layers: Layers) -> None:
    """Refuse models that are too large for an estimator of the algorithms, or for the bias of CD to be enumerated."""
    from rbmbench import estimators
    from rbmbench.model.enumeration import check_sizes

    size = paper.data[panel.data].visible, panel.hidden
    stages = [stage for name in names for stage in paper.algorithms[name].stages]
    checks = [estimators.REGISTRY.create(stage.estimator, stage.options).check_sizes for stage in stages]
    checks += [check_sizes] * bool(panel.bias_bound or paper.defaults.bias_bound)
    try:
        for check in checks:
            check(*size)
    except SettingsError as error:
        raise layers.refuse((*location, "hidden"), str(error)) from None


def _check_schedules(paper: Paper, panel: Panel, names: Iterable[str], location: tuple, layers: Layers) -> None:
    """Refuse a panel whose iterations are not those of the schedules of its algorithms."""
    for name in names:
        *_, last = ends = [stage.until for stage in paper.algorithms[name].stages]
        begins = ends[-2] if len(ends) > 1 else 0
        if panel.iterations <= begins or last not in (None, panel.iterations):
            allowed = f"more than {begins}" if last is None else last
            message = (
                f"found {panel.iterations}; the schedule of {name!r} ends its stages at {ends}; allowed: {allowed}"
            )
            raise layers.refuse((*location, "iterations"), message)
