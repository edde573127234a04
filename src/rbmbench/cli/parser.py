# SPDX-License-Identifier: BSD-3-Clause
"""The argument parser of the command line.

Each subcommand names the function that runs it as "module:function" of this package; it is imported when it runs, so
that ``--help`` is quick.
"""

import math
import os
import re
import sys
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace, _SubParsersAction
from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import NoReturn

from rbmbench.base.errors import SettingsError, unknown_name
from rbmbench.io.guard import UnreadableError
from rbmbench.io.layout import KEPT_ARENA
from rbmbench.io.text import plain_json

LARGEST_COUNT = 2**31 - 1
MOST_SAMPLES = 2500
"""Samples of a picture: more are smaller than its pixels."""


class Parser(ArgumentParser):
    """A parser whose errors are one line, and name the nearest command or argument."""

    def parse_known_args(
        self, args: Sequence[str] | None = None, namespace: Namespace | None = None
    ) -> tuple[Namespace, list[str]]:
        """Parse arguments; `SettingsError` for the first one that is wrong."""
        args = sys.argv[1:] if args is None else args
        for text in args:
            if "\0" in text or text.encode(errors="replace").decode() != text:
                raise SettingsError(f"argument {text!a}: is not UTF-8 text without NUL characters")
        if self._subparsers:
            action = next(action for action in self._actions if isinstance(action, _SubParsersAction))
            name = next((text for text in args if not text.startswith("-")), None)
            if name is not None and name not in action.choices:
                self.error(unknown_name("command", name, [choice.dest for choice in action._choices_actions]))
        else:
            known = [name[2:].replace("-", "_") for name in self._option_string_actions if name.startswith("--")]
            for text in takewhile(lambda text: text != "--", args):
                name = text.partition("=")[0][2:].replace("-", "_")
                if text.startswith("--") and name not in known:
                    self.error(unknown_name("argument", name, known).replace("_", "-"))
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise a `SettingsError`."""
        raise SettingsError(f"{message}; see '{self.prog} --help'")


def parser() -> Parser:
    """Return the parser; parsed arguments hold the function to run as ``command``."""
    whole = Parser(
        prog="rbmbench",
        description="Train restricted Boltzmann machines, and compare what they have learned.",
        allow_abbrev=False,
    )
    whole.add_argument("--version", action=_Version, nargs=0, help="print the version, and exit")
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_commands(commands)
    _add_steps(commands)
    return whole


class _Version(Action):
    """Print the version, which is looked up then."""

    def __call__(self, parser: ArgumentParser, *_) -> None:
        """See `argparse.Action`."""
        import rbmbench

        print(f"rbmbench {rbmbench.__version__}")
        parser.exit()


def _add(commands, name: str, command: str, text: str, *groups: dict[str, dict], listed: bool = True) -> Parser:
    """Return the parser of a new subcommand, with groups of arguments: options of `add_argument` by name."""
    options = {"help": text} if listed else {}
    added = commands.add_parser(name, description=text, allow_abbrev=False, **options)
    added.set_defaults(command=command)
    for group in (*groups, ALL):
        for argument, described in group.items():
            added.add_argument(argument, **described)
    return added


def _number(least: float, most: float, kind: type) -> Callable[[str], float]:
    """Return a type of arguments: numbers of a kind, from ``least`` to ``most``."""

    def number(text: str) -> float:
        value = kind(text)
        if not least <= value <= most:
            raise ArgumentTypeError(f"found {text!r}; should be from {least} to {most}")
        return value

    return number


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ArgumentTypeError(f"found {text!r}; should be NAME=VALUE")
    return name, value


def _shape(text: str) -> tuple[int, int]:
    numbers = re.fullmatch(r"([1-9]\d{0,8})x([1-9]\d{0,8})", text, re.ASCII)
    if not numbers:
        raise ArgumentTypeError(f"found {text!r}; should be ROWSxCOLUMNS, such as 28x28")
    return int(numbers[1]), int(numbers[2])


def _range_of_trials(text: str) -> tuple[int, int]:
    numbers = re.fullmatch(r"(\d{1,9})-([1-9]\d{0,8})", text, re.ASCII)
    if not numbers:
        raise ArgumentTypeError(f"must be FIRST-COUNT, such as 10-5, got {text!r}")
    return int(numbers[1]), int(numbers[2])


def _kind_of_parts(text: str) -> str:
    if text not in PARTS:
        raise ArgumentTypeError(f"found {text!r}; should be one of {', '.join(PARTS)}")
    return text


_count = _number(1, LARGEST_COUNT, int)
_file, _folder = (partial(dict, type=Path, metavar=metavar) for metavar in ("FILE", "FOLDER"))
_required_file, _required_folder = partial(_file, required=True), partial(_folder, required=True)
_json = partial(dict, metavar="JSON")

# Arguments that several subcommands share, the first ones all of them.
ALL = {
    "--log": _file(help="file that gets a copy of all messages; the command goes on if it cannot be written"),
    "--plugin": {
        "type": Path,
        "action": "append",
        "default": [],
        "metavar": "PATH",
        "help": "file or folder of parts of your own; may be repeated",
    },
}
COMPUTATION = {
    "--settings": _json(required=True, help="settings as JSON, or the name of a JSON file"),
    "--out": _required_folder(help="folder to write"),
    "--threads": {"type": _count, "default": 1, "metavar": "N", "help": "threads to use (default: 1)"},
    "--scale": {"default": "none", "metavar": "NAME", "help": "name of the scale, for meta.json"},
}
OWN_DATA = {
    "--array": {"metavar": "NAME", "help": "array of an .npz file (default: train, or the only one)"},
    "--drop-columns": {"nargs": "+", "metavar": "COLUMN", "help": "columns to leave out: names, or numbers from 1"},
    "--threshold": {"type": float, "metavar": "NUMBER", "help": "larger numbers are 1, others 0"},
}
DATA_OR_OWN = {
    "--data": _required_file(help="file of `rbmbench data`, or rows of 0 and 1 of your own: text, parquet, .npy, ..."),
    "--run-id": {"metavar": "ID", "help": "id of the run, for meta.json (default: the name of the folder to write)"},
}
ONE_STAGE = {
    "--hidden": {"type": _count, "metavar": "N", "help": "hidden units"},
    "--iterations": {"type": _count, "metavar": "N", "help": "updates of the parameters"},
    "--batch": {"type": _count, "metavar": "N", "help": "rows of a mini-batch (default: 100, or all if fewer)"},
    "--estimator": {"metavar": "NAME", "help": "gradient estimator (default: cd); `rbmbench list` has all"},
    "--options": _json(help="options of the estimator (default: none)"),
    "--k": {"type": _count, "metavar": "N", "help": "Gibbs steps: the same as --options '{\"k\": N}'"},
    "--update": {"metavar": "NAME", "help": "update rule (default: sgd)"},
    "--rate": {"type": float, "metavar": "RATE", "help": "learning rate (default: 0.1)"},
    "--trials": {"type": _count, "metavar": "N", "help": "independent repetitions (default: 1)"},
    "--seed": {"type": int, "metavar": "N", "help": "seed (default: 0)"},
    "--evaluate-every": {"type": _count, "metavar": "N", "help": "iterations between evaluations (default: 100)"},
}
OF_FIT = {
    "data": _file(help="rows of 0 and 1 of your own, a row per sample: text, libsvm, parquet, .npy or .npz"),
    **OWN_DATA,
    "--out": _required_folder(help="folder to write"),
    **ONE_STAGE,
    "--hidden": ONE_STAGE["--hidden"] | {"required": True},
    "--iterations": ONE_STAGE["--iterations"] | {"default": 5000, "help": "updates of the parameters (default: 5000)"},
    "--evaluate-every": ONE_STAGE["--evaluate-every"]
    | {"help": "iterations between evaluations (default: so many that there are 20)"},
    "--threads": COMPUTATION["--threads"],
    "--validation": {
        "type": _number(0, 1, float),
        "metavar": "SHARE",
        "help": "share of the rows to hold out, at random (default: 0.1 of at least 100 rows; 0 for none)",
    },
    "--patience": {
        "type": _count,
        "metavar": "N",
        "help": "stop after N evaluations without a rise of the held-out score (default: make all iterations)",
    },
    "--no-certificate": {"action": "store_false", "dest": "certificate", "help": "do not examine the trained model"},
    "--shape": {"type": _shape, "metavar": "ROWSxCOLUMNS", "help": "draw filters and samples as images (28x28)"},
    "--samples": {
        "type": _number(1, MOST_SAMPLES, int),
        "default": 100,
        "metavar": "N",
        "help": "samples to draw (default: 100)",
    },
}
PARTS = ("estimators", "updates", "samplers", "datasets", "kinds")
SOURCES = {
    "--mirror": {"help": "folder or base address that is tried before the public addresses"},
    "--cache": {"help": "folder of downloads"},
}
NOTEBOOK = {
    "--template": _required_file(help="notebook to run"),
    "--notebook": _required_file(help="executed notebook, to write"),
    "--page": _required_file(help="the same as HTML, to write"),
    "--partial": _file(help="the notebook while it runs, and if it fails"),
}
SPECS = {"--specs": _file(nargs="*", default=[], help="specs of the figures and tables (default: all)")}
VALUES = {"--values": _json(help="the merged configuration, if it is known already")}
SCALE = {"--scale": {"required": True, "metavar": "NAME", "help": "name of the scale"}}
SCALE_FOLDER = {"--folder": _folder(help="folder of the scale (default: results/SCALE)")}
OF_SCALE = {
    "--scale": {"metavar": "NAME", "help": "scale whose results are taken: the same as the folder results/NAME"}
}
OVERLAY = {"--scale": {"metavar": "NAME", "help": "scale: the same as the overlay NAME.yaml beside config.yaml"}}
CLAIMS = {"--claims": _required_file(nargs="+", help="claims, one file per paper")}


def _resumable() -> dict[str, dict]:
    """Return the arguments of checkpoints and backend; their defaults are read from the environment now."""
    seconds, backend = (os.environ.get(f"RBMBENCH_{name}") for name in ("CHECKPOINT_SECONDS", "BACKEND"))
    return {
        "--checkpoint": _file(help="checkpoint to resume from, and to write"),
        "--checkpoint-seconds": {
            "type": _number(0, math.inf, float),
            "default": seconds or None,
            "metavar": "SECONDS",
            "help": "least time between two checkpoints (default: the variable RBMBENCH_CHECKPOINT_SECONDS, or 20)",
        },
        "--backend": {
            "default": backend or "auto",
            "metavar": "NAME",
            "help": "arrays to compute on: auto, numpy, or cupy for a GPU"
            " (default: the variable RBMBENCH_BACKEND, or auto)",
        },
    }


def _add_commands(commands) -> None:
    add = partial(_add, commands)
    own = {
        "--json": {"action": "store_true", "help": "print JSON instead of tables"},
        "--online": {"action": "store_true", "help": "ask public addresses if they answer; download nothing"},
        "--results": _folder(default=Path("results"), help="folder of results"),
    }
    doctor = add("doctor", "doctor:doctor", "report on this machine, and test the installation", SOURCES, own)
    doctor.add_argument("--quick", "--no-self-test", dest="self_test", action="store_false", help="skip the self-test")

    own = {
        "--config": _file(default=Path("config/config.yaml"), help="config.yaml"),
        "--configfile": _file(nargs="*", default=[], help="overlays, in order"),
        **VALUES,
        "--target": {"nargs": "+", "default": ["all"], "help": "targets, as popcd_table1 or arena (default: all)"},
        "--results": _folder(nargs="+", default=[Path("results")], help="folders of recorded runs"),
        "--cores": {"type": _count, "metavar": "N", "help": "jobs that run at a time (default: all cores)"},
        "--out": _file(help="CSV file to write"),
    }
    add("forecast", "forecasting:forecast", "forecast time and memory of a scale", OVERLAY, own)

    config = commands.add_parser("config", help="check the configuration, or write its JSON schemas")
    actions = config.add_subparsers(metavar="ACTION", required=True)
    own = {"files": _file(nargs="*", help="config.yaml, then overlays (default: config/config.yaml)")}
    text = "check config.yaml with its overlays, and count the results"
    _add(actions, "check", "making:config_check", text, OVERLAY, own)
    own = {"--out": _folder(default=Path("config/schemas"))}
    _add(actions, "schema", "making:config_schema", "write the JSON schemas of the configuration", own)

    text = "train all trials of a run, or resume it from its checkpoint"
    add(
        "train",
        "computing:train",
        text,
        DATA_OR_OWN,
        OWN_DATA,
        ONE_STAGE,
        COMPUTATION
        | {"--settings": _json(help=f"all settings as JSON, or a JSON file, in place of {', '.join(ONE_STAGE)}")},
        _resumable(),
    )

    text = "train on a file of your own, and write models, curve, pictures and a page"
    fit = add("fit", "fitting:fit", text, OF_FIT, _resumable())
    fit.set_defaults(settings=None, run_id=None, scale="none")

    own = {
        "model": _file(help="folder of a run, or an .npz file with W (..., m, n), b (..., m) and c (..., n)"),
        "--data": DATA_OR_OWN["--data"],
        **OWN_DATA,
        "--settings": _json(default="{}", help="budget as JSON, such as '{\"sweeps\": 5000}' (default: the usual one)"),
        "--out": _file(help="CSV file with all numbers, to write"),
    }
    add("certify", "fitting:certify", "say whether a trained model is what it seems to be", own)

    own = {
        "model": own["model"],
        "data": _file(help="rows to score: new ones, or those of training"),
        **OWN_DATA,
        "--settings": _json(default="{}", help="budget of log Z as JSON, such as '{\"temperatures\": 10000}'"),
        "--threads": COMPUTATION["--threads"],
        "--out": _file(help="CSV file to write (default: standard output)"),
    }
    add("score", "fitting:score", "log-likelihood of each row of a file under trained models, with its error", own)

    own = {
        "kinds": {"nargs": "*", "type": _kind_of_parts, "metavar": "KIND", "help": f"{', '.join(PARTS)} (default: all)"}
    }
    text = "list estimators, update rules, samplers, data sets and kinds of figures with their options"
    add("list", "listing:list_parts", text, own)

    own = {
        "what": {"choices": ("estimator", "dataset", "paper"), "help": "what it is"},
        "name": {"metavar": "NAME", "help": "its name: small letters, digits and _, first a letter"},
        "--folder": _folder(help="folder to write (default: plugins; of a paper: config)"),
    }
    add("new", "new:new", "begin an estimator, data set or paper of your own: files that work, and a test", own)

    own = {
        "--name": {"required": True, "help": "name of the data set"},
        "--options": _json(default="{}", help="options of the data set (default: none)"),
        "--rows": {"type": int, "help": "fail unless the data set has this many training rows"},
        "--visible": {"type": int, "help": "fail unless the data set has this many visible units"},
        "--out": _required_file(help="npz file to write"),
    }
    add("data", "making:data", "make or fetch a data set, and write it as an npz file", SOURCES, own)

    own = {
        "folders": _folder(nargs="*", help="folders of results (default: those in results/reference)"),
        "--out": _file(default=Path("report.html"), help="HTML file to write (default: report.html)"),
        "--config": _file(default=Path("config/config.yaml"), help="config.yaml, for titles of papers and figures"),
        "--configfile": {
            "nargs": "*",
            "default": [],
            "metavar": "FILE",
            "help": "overlays (default: that beside config.yaml of a folder's name)",
        },
        **VALUES,
    }
    add("report", "making:report", "write one page that shows all results of some folders", SPECS, OF_SCALE, own)

    widths = {"choices": ("3.3", "6.9"), "help": "for a publication: inches; without titles (default: for a page)"}
    own = {
        "folder": _folder(nargs="?", help="folder of a scale, as results/SCALE, or of kept results"),
        "--keys": {"nargs": "*", "default": [], "metavar": "KEY", "help": "figures and tables (default: all)"},
        "--width": widths,
        "--out": _folder(help="folder to write (default: the same)"),
    }
    add("redraw", "making:redraw", "draw figures and tables again from their charts", OF_SCALE, own)

    own = {
        "folder": _folder(nargs="?", help="folder of a scale with runs of your method in the arena, as results/SCALE"),
        "--with": _folder(
            dest="kept", default=Path(KEPT_ARENA), help=f"folder of a kept arena (default: {KEPT_ARENA})"
        ),
        "--out": _required_folder(help="folder to write"),
    }
    add("compare", "making:compare", "put your method into the kept arena", OF_SCALE, own)


def _add_steps(commands) -> None:
    """Add the steps of the workflow, and what maintains the repository, which the list of commands leaves out."""
    add = partial(_add, commands, listed=False)
    own = {
        "--data": _file(help="npz file of the data set"),
        "--model": _folder(help="folder of the run whose models are measured"),
        "--needs": _folder(nargs="*", default=[], help="folders of the other jobs that this one reads"),
        "--run-id": DATA_OR_OWN["--run-id"],
        "--block": {"type": _range_of_trials, "metavar": "FIRST-COUNT", "help": "only so many trials, from one on"},
        "--blocks": _folder(nargs="+", help="folders of the blocks of trials to gather, in place of computing"),
    }
    text = "compute a job of the workflow: evaluate, ground_truth, estimate, ..."
    of_job = own, COMPUTATION | _resumable()
    text_again = "folders of evaluations of a scale whose models are evaluated again; --settings are what changes then"
    again = {"--again": _folder(nargs="+", help=text_again)}
    words = "the same as job evaluate, or again with other settings"
    add("evaluate", "computing:evaluate", words, again, *of_job).set_defaults(kind="evaluate")
    job = add("job", "computing:compute", text, *of_job)
    job.add_argument("kind", metavar="KIND", help="kind of job, a module of rbmbench.jobs or of a plug-in")

    own = {
        "jobs": {"nargs": "+", "metavar": "JOB", "help": "subcommands, as 'job KIND --settings ...'"},
        "--threads": COMPUTATION["--threads"],
    }
    add("bundle", "computing:bundle", "compute short jobs of the workflow, one after the other", own)

    pairs = {"type": _pair, "metavar": "NAME=VALUE", "help": "parameters of the notebook"}
    own = {
        "key": {"nargs": "?", "metavar": "KEY", "help": "figure or table; its spec is written to parameter spec"},
        "--spec": _json(help="the spec as JSON, or a JSON file with those of all figures and tables"),
        "--set": {"required": True, "nargs": "+", **pairs},
    }
    add("render", "making:render", "run the notebook of a figure or table", NOTEBOOK, own)

    own = {
        "--specs": _required_file(help="specs of all figures and tables"),
        "--spec": _required_file(help="spec of the claims, to write"),
        "--csv": _required_file(help="verdicts, to write"),
    }
    add("claims", "making:claims", "check the claims of the papers", NOTEBOOK, SCALE, CLAIMS, own)

    own = {
        "--runs": _required_folder(nargs="+", help="folders of runs"),
        "--out": _required_file(help="CSV file to write"),
    }
    add("run-times", "making:run_times", "tabulate the run times in meta.json", own)

    own = {
        "--figures": {"nargs": "*", "default": [], "metavar": "KEY", "help": "figures, such as popcd_fig1"},
        "--tables": {"nargs": "*", "default": [], "metavar": "KEY", "help": "tables, such as popcd_table1"},
        "--runs": _folder(nargs="*", default=[], help="runs: their curve and meta"),
        "--out": _required_folder(help="folder to write"),
    }
    text = "copy the small files of results: pictures, tables, meta, verdicts"
    add("keep", "keeping:keep", text, SCALE, SCALE_FOLDER, CLAIMS, own)


def plain_data(argument: str, text: str) -> dict:
    """Return the mapping that an argument holds as JSON."""
    try:
        values = plain_json(text)
    except UnreadableError as error:
        raise SettingsError(f"{argument}: is not JSON ({error})") from None
    if not isinstance(values, dict):
        raise SettingsError(f"{argument}: holds a {type(values).__name__}; should be a mapping of keys")
    return values
