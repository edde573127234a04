# SPDX-License-Identifier: BSD-3-Clause
"""Read and check the configuration before any work starts: every mistake is one line naming file and key."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbmbench.base import plugins
from rbmbench.base.errors import SettingsError, unknown_name
from rbmbench.base.parsing import parse
from rbmbench.config.checks import checked_paper
from rbmbench.config.layers import Layers, merged, read_yaml
from rbmbench.config.paper import Paper
from rbmbench.config.parts import MainConfig


@dataclass(frozen=True)
class Configuration:
    """All settings of one scale."""

    main: MainConfig
    papers: tuple[Paper, ...]  # as they are run
    published: Mapping[str, Paper]  # without the overrides, by key
    # printed numbers of ``config/claims/KEY.yaml``, by key and table
    published_tables: Mapping[str, Mapping[str, object]]
    studies: tuple[str, ...]  # keys of studies of our own among the papers: their files are beside config.yaml
    layers: Layers  # the files that ``main`` was merged from, for errors

    @property
    def folder(self) -> Path:
        """The folder of config.yaml."""
        return Path(self.layers.parts[0][0]).parent


def load(files: Iterable[str | Path], config: Mapping[str, object] | None = None) -> Configuration:
    """Return the checked configuration; `SettingsError` for the first value that is not allowed.

    ``files`` are config.yaml and its overlays; papers are read from ``papers/`` beside the first. ``config`` has the
    merged values, to which Snakemake adds those of ``--config``; by default the files are merged.
    """
    files = [Path(file) for file in files]
    layers = Layers(tuple((str(file), read_yaml(file)) for file in files))
    values = merged(*(values for _, values in layers.parts)) if config is None else config
    main = parse(MainConfig, values, layers.place)
    _load_plugins(layers, main)
    keys = sorted(path.stem for path in (files[0].parent / "papers").glob("*.yaml"))
    for key in main.overrides:  # an overlay may have overrides of papers that another one omits
        if not paper_file(files[0].parent, key).is_file():
            raise layers.refuse(("overrides", key), unknown_name("paper", key, {*keys, *main.papers}))
    published, papers, studies = {}, [], []
    for key in main.papers:
        file = paper_file(files[0].parent, key)
        if not file.is_file():
            raise layers.refuse(("papers",), unknown_name("paper", key, keys))
        if file.parent == files[0].parent:
            studies.append(key)
        settings = read_yaml(file)
        published[key] = checked_paper(key, Layers(((str(file), settings),)), settings)
        overrides = [
            (f"{name}: overrides.{key}", override)
            for name, layer in layers.parts
            if (override := _mapping(_mapping(layer, "overrides"), key))
        ]
        values = _without_nulls(merged(settings, main.overrides.get(key, {})), settings)
        papers.append(checked_paper(key, Layers(((str(file), settings), *overrides)), values))
    tables = {key: _published_tables(files[0].parent / "claims" / f"{key}.yaml") for key in main.papers}
    return Configuration(main, tuple(papers), published, tables, tuple(studies), layers)


def _load_plugins(layers: Layers, main: MainConfig) -> None:
    """Load the plug-ins of all files, since merged values contain the list of the last one only."""
    for place, layer in (*layers.parts, (layers.place(("plugins",)), {"plugins": main.plugins})):
        paths = layer.get("plugins")
        for path in paths if isinstance(paths, list | tuple) else ():
            try:
                plugins.load_plugins(str(path))
            except SettingsError as error:
                raise SettingsError(f"{place}: plugins: {error}") from None


def paper_file(folder: Path, key: str) -> Path:
    """Return the file of a paper, or of a study of our own, below the folder of config.yaml; it need not exist."""
    paper, study = folder / "papers" / f"{key}.yaml", folder / f"{key}.yaml"
    return study if study.is_file() and not paper.is_file() else paper


def _without_nulls(values: dict[str, object], published: Mapping[str, object]) -> dict[str, object]:
    """Return a paper's values without figures, tables, panels, contests and rows that an overlay sets to null."""
    for kind, parts in (("figures", "panels"), ("figures", "contests"), ("tables", "rows")):
        entries = _mapping(published, kind)
        if isinstance(items := values.get(kind), dict):
            values[kind] = _less_nulls(items, entries)
        for name, item in _mapping(values, kind).items():
            if isinstance(item, dict) and isinstance(item.get(parts), dict):
                item[parts] = _less_nulls(item[parts], _mapping(_mapping(entries, name), parts))
    return values


def _less_nulls(entries: Mapping[str, object], published: Mapping[str, object]) -> dict[str, object]:
    return {key: entry for key, entry in entries.items() if entry is not None or key not in published}


def _mapping(values: Mapping[str, object], key: str) -> Mapping[str, Any]:
    """Return a mapping in a mapping that is not checked yet; an empty one where there is none."""
    value = values.get(key)
    return value if isinstance(value, dict) else {}


def _published_tables(file: Path) -> Mapping[str, object]:
    if not file.is_file():
        raise SettingsError(f"{file}: is missing; a paper without claims yet has a file with the line 'claims: []'")
    tables = read_yaml(file).get("published_tables")
    if tables is not None and not isinstance(tables, dict):
        raise SettingsError(f"{file}: published_tables: must be a mapping of tables, got a {type(tables).__name__}")
    return tables or {}
