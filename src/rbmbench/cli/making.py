# SPDX-License-Identifier: BSD-3-Clause
"""The subcommands that make data sets, notebooks, the report and the schemas of the configuration.

A workflow calls some of them often: modules that only one needs are imported there.
"""

import json
from argparse import Namespace
from pathlib import Path

from rbmbench.base.errors import DataError, ResultsError, SettingsError, unknown_name
from rbmbench.cli.parser import CONFIG, plain_data
from rbmbench.io.atomic import write_json
from rbmbench.io.layout import REFERENCE, Layout


def data(arguments: Namespace) -> None:
    """Make or fetch a data set and write it."""
    from rbmbench import datasets
    from rbmbench.base import plugins
    from rbmbench.io.atomic import remove_leftovers
    from rbmbench.io.locks import locked
    from rbmbench.io.results import check_writable

    recipe = datasets.REGISTRY.create(arguments.name, arguments.options)
    check_writable(arguments.out.parent)
    with locked(arguments.out):
        remove_leftovers(arguments.out)
        dataset = recipe.load(datasets.Sources.resolve(arguments.mirror, arguments.cache))
        sizes = {"rows": dataset.train.shape[0], "visible": dataset.train.shape[1]}
        for key, number in sizes.items():
            expected = getattr(arguments, key)
            if expected not in (None, number):
                text = f"{key}: must be {expected}, as in the configuration, got {number}"
                raise DataError(f"data set {arguments.name!r}: {text}")
        if made_by := plugins.used():
            dataset.provenance["plugins"] = made_by
        datasets.save(dataset, arguments.out)
    print(f"{arguments.out}: {dataset.title}, {sizes['rows']} x {sizes['visible']}")


def render(arguments: Namespace) -> None:
    """Run a notebook with parameters; that of a figure or table writes its spec first."""
    from rbmbench.planning.specs import read_specs
    from rbmbench.reporting.page.notebooks import run_notebook

    parameters = dict(arguments.set)
    if key := arguments.key:
        if (text := arguments.spec) is None:
            raise SettingsError(f"render {key}: --spec must be given, got nothing")
        specs = {key: plain_data("--spec", text)} if text.startswith("{") else read_specs(text)
        if key not in specs:
            raise SettingsError(f"{text}: {unknown_name('figure or table', key, specs)}")
        if "spec" not in parameters:
            raise SettingsError(f"render {key}: --set must have spec=FILE, got {', '.join(parameters)}")
        write_json(parameters["spec"], specs[key])
    run_notebook(arguments.template, parameters, arguments.notebook, arguments.page, arguments.partial)


def claims(arguments: Namespace) -> None:
    """Write the spec of the claims, and run the notebook that judges them."""
    from rbmbench.config.layers import read_yaml
    from rbmbench.planning.specs import parse_spec, read_specs
    from rbmbench.reporting.page.notebooks import run_notebook

    specs = read_specs(arguments.specs)
    for key, spec in specs.items():
        parse_spec(spec, f"{arguments.specs}: {key}")
    claims = {file.stem: read_yaml(file) for file in arguments.claims}
    values = {"key": "claims", "scale": arguments.scale, "outputs": list(specs.values()), "claims": claims}
    write_json(arguments.spec, values)
    parameters = {"spec": str(arguments.spec), "csv": str(arguments.csv)}
    run_notebook(arguments.template, parameters, arguments.notebook, arguments.page, arguments.partial)


def report(arguments: Namespace) -> None:
    """Write the page with all results of some folders."""
    from rbmbench.reporting.page.html import write_report

    named = [*arguments.folders, *scale_folder(arguments)] or [Path(REFERENCE)] * Path(REFERENCE).is_dir()
    folders = [inner for folder in named for inner in shown_folders(folder)]
    if not folders:
        raise SettingsError(f"report: must have a folder, got none in {REFERENCE}; name one, such as results/smoke")
    configured = arguments.config, arguments.configfile
    write_report(folders, arguments.out, *configured, arguments.specs, arguments.values)
    print(f"{arguments.out}: written")


def scale_folder(arguments: Namespace) -> list[Path]:
    """Return the folder of the results of the scale that --scale names, as a list of one or none."""
    return [Path(Layout.of(arguments.scale).root)] if arguments.scale else []


def scale_overlay(arguments: Namespace, config: Path) -> list[Path]:
    """Return the overlay of the scale that --scale names, as a list of one; none for the scale of ``config``."""
    from rbmbench.config.layers import read_yaml

    if arguments.scale in (None, read_yaml(config).get("scale")):
        return []
    return [config.parent / f"{arguments.scale}.yaml"]


def _one_folder(arguments: Namespace) -> Path:
    named = [*filter(None, [arguments.folder]), *scale_folder(arguments)]
    if len(named) != 1:
        folders = " and --scale ".join(map(str, named)) or "nothing"
        raise SettingsError(f"folder: must be one folder, or --scale NAME, got {folders}")
    return named[0]


def shown_folders(folder: Path) -> list[Path]:
    """Return a folder that has specs, verdicts or measured speed, or else folders in it that do, "paper" first."""
    names = ("claims.json", "steps.csv")
    inner = {file.parent for name in names for file in folder.glob(f"*/{name}")}
    if not inner or any((folder / name).exists() for name in (*names, "specs")):
        return [folder]
    return sorted(inner, key=lambda folder: (folder.name != "paper", folder.name))


def redraw(arguments: Namespace) -> None:
    """Draw figures and tables of results again."""
    from rbmbench.reporting import redraw as drawing
    from rbmbench.reporting.style import PAGE, PUBLICATION

    arguments.folder = _one_folder(arguments)
    names = [file.stem for kind in ("figures", "tables") for file in (arguments.folder / kind).glob("*_*.json")]
    if not names:
        raise ResultsError(f"{arguments.folder}: must have figures or tables, got none")
    if arguments.check and arguments.out:
        raise SettingsError("--check: must be without --out, since it writes nothing")
    if arguments.width and not arguments.out:
        raise SettingsError("--width: needs --out, so that the pictures of the page stay")
    sheet = PUBLICATION[arguments.width] if arguments.width else PAGE
    if arguments.check:
        keys = arguments.keys or sorted(names)
        if changed := [key for key in keys if not drawing.is_current(arguments.folder, key)]:
            raise ResultsError(f"{arguments.folder}: must be as drawn now, got other {', '.join(changed)}")
        return
    for key in arguments.keys or sorted(names):
        done = drawing.redraw(arguments.folder, key, arguments.out or arguments.folder, sheet)
        print(f"{key}: {'drawn' if done else 'left as it is, for its images are not kept'}")


def compare(arguments: Namespace) -> None:
    """Draw the kept arena with the algorithms of a folder of the user as well."""
    from rbmbench.reporting.compare import compare as compared

    for key in compared(_one_folder(arguments), arguments.kept, arguments.out):
        print(f"{key}: written below {arguments.out}")


def run_times(arguments: Namespace) -> None:
    """Tabulate the time and memory of runs."""
    import pandas as pd

    from rbmbench.io.results import read_meta
    from rbmbench.reporting.text_tables import write_csv

    rows = []
    for meta in map(read_meta, arguments.runs):
        settings, wall = meta["settings"], meta["wall"]
        estimators = [stage["estimator"] for stage in settings["schedule"]]
        updates = meta["iterations"] * meta["trials"]
        row = {
            "run": meta["run"],
            "data": meta["data"]["title"],
            "visible": meta["data"]["visible"],
            "hidden": settings["hidden"],
            "batch": settings["batch"],
            "estimator": ", ".join(estimator["name"] for estimator in estimators),
            "options": ", ".join(json.dumps(estimator["options"], sort_keys=True) for estimator in estimators),
        }
        row |= {key: meta[key] for key in ("trials", "iterations", "backend", "threads")}
        row |= {"training_ms_per_update_and_trial": 1000 * wall["training_seconds"] / updates, **wall}
        rows.append(row | {"peak_memory_mb": meta["peak_memory_mb"], "cpu": meta["hardware"]["cpu"]})
    write_csv(pd.DataFrame(rows), arguments.out)


def config_check(arguments: Namespace) -> None:
    """Check the configuration with the claims, and print the numbers of figures, tables and jobs."""
    from rbmbench.config.loading import load
    from rbmbench.planning.plan import plan
    from rbmbench.reporting.claims import files

    config, *overlays = arguments.files or [CONFIG]
    configuration = load([config, *scale_overlay(arguments, config), *overlays])
    files.check(config.parent / "claims", configuration)
    planned = plan(configuration)
    counts = f"{len(planned.figures)} figures, {len(planned.tables)} tables, {len(planned.jobs)} jobs"
    print(f"ok: {planned.scale} scale, {counts}")


def config_schema(arguments: Namespace) -> None:
    """Write the JSON schemas of the configuration."""
    from rbmbench.config.paper import schemas
    from rbmbench.reporting.claims import files

    for name, schema in (schemas() | {"claims.schema.json": files.schema()}).items():
        write_json(arguments.out / name, schema)
        print(arguments.out / name)
