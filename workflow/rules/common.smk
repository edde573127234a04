# SPDX-License-Identifier: BSD-3-Clause
# What all rules share: the checked plan of what to compute, and how to call the package.

import hashlib
import json
import os
import sys
from functools import cache
from pathlib import Path

from rbmbench import datasets
from rbmbench.base import plugins
from rbmbench.base.errors import RbmbenchError, SettingsError
from rbmbench.cli import snakemake_scheduler, snakemake_slurm
from rbmbench.cli.snakemake_logger import LoggedWorkflow
from rbmbench.config.loading import load
from rbmbench.io.layout import BIAS, CERTIFICATE, CURVE, ISL, META, MODEL, SHOWN, STOPPING_TIMES, TRUTH
from rbmbench.io.results import check_writable
from rbmbench.io.warm import WarmProcess
from rbmbench.measurements.fingerprints import fingerprint, probe_ahead, recipe_fingerprint
from rbmbench.planning.forecast import requests
from rbmbench.planning.plan import plan
from rbmbench.reporting.claims import files as claim_files


def checked_plan():
    """Return the configuration and what it asks for, or end with one line that says what is wrong with it."""
    modifier = workflow.modifier.path_modifier
    try:
        if modifier.prefix or modifier.modifies_prefixes:
            raise SettingsError("module: prefix: is not supported; results are written to results/SCALE")
        fetch_papers(config.get("papers") or ())
        configuration = load([CONFIG, *OVERLAYS], config)
        claim_files.check(Path(CONFIG).parent / "claims", configuration)
        found = plan(configuration)
        check_writable(found.layout.root)
        return configuration, found
    except RbmbenchError as error:
        print(f"rbmbench: error: {error}", file=sys.stderr)
        sys.exit(2)


def step_environment():
    """Return the variables of every step: programs, sources of data, arrays to train on, plug-ins by their files."""
    access = CONFIGURATION.main.data
    values = {
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]),
        "RBMBENCH_DATA_MIRROR": access.mirror,
        "RBMBENCH_DATA_CACHE": access.cache,
        "RBMBENCH_BACKEND": None if CONFIGURATION.main.backend == "auto" else CONFIGURATION.main.backend,
        plugins.VARIABLE: plugins.name_for_processes(),
    }
    return {name: value for name, value in values.items() if value}


snakemake_scheduler.install()
snakemake_slurm.install()
OVERLAYS = [os.path.relpath(file) for file in workflow.overwrite_configfiles]
CONFIGURATION, PLAN = checked_plan()
LAYOUT = PLAN.layout
LOGGED = LoggedWorkflow(workflow, PLAN, CONFIGURATION)
WARM = WarmProcess()
FEWEST_JOBS_OF_WARM_PROCESS = 10

# The steps run the `rbmbench` beside the Python that runs Snakemake: no environment has to be activated.
os.environ.update(step_environment())


wildcard_constraints:
    data="[a-z][a-z0-9_]*",
    run="[^/]+-[0-9a-f]{10}",
    evaluation="[^/]+-ais-[0-9a-f]{10}",
    truth="[^/]+-truth-[0-9a-f]{10}",
    estimate="[^/]+-bias-[0-9a-f]{10}",
    coupling="[^/]+-couple-[0-9a-f]{10}",
    samples="[^/]+-samples-[0-9a-f]{10}",
    certificate="[^/]+-certificate-[0-9a-f]{10}",
    figure="[a-z0-9_]+_fig[a-z0-9_]*",
    table="[a-z0-9_]+_table[a-z0-9_]*",


# What jobs ask a scheduler for. The name of a wildcard stands for the job it names.


@cache
def requested():
    """Return what every run, evaluation, ground truth and estimate asks for, by its id."""
    return requests(PLAN)


def mem_mb_of(name):
    """Return the memory of a job as a function that Snakemake calls: by the forecast, and more at each attempt."""
    return lambda wildcards, attempt: requested()[wildcards[name]].megabytes_at(attempt)


def runtime_of(name):
    """Return the minutes of a job as such a function."""
    return lambda wildcards, attempt: requested()[wildcards[name]].minutes_at(attempt)


def more_each_attempt(amount):
    """Return an amount of memory or of time as such a function, for jobs that have no forecast."""
    return lambda wildcards, attempt: attempt * amount


def gpu_count():
    """Return the GPUs of a job that trains or anneals: one where the configuration or RBMBENCH_BACKEND says cupy."""
    return 1 if os.environ.get("RBMBENCH_BACKEND") == "cupy" else 0


def batch_of(group, name):
    """Return a group of jobs that share a place in the queue, as such a function: the short ones that need no GPU."""
    return lambda wildcards: group if requested()[wildcards[name]].short and not gpu_count() else None


# What the results depend on besides settings: code, and data of the user's own.


@cache
def begin_probing():
    """Tell, once, what takes time now, and have a second core help."""
    print("rbmbench: finding out what the code computes, once after a change of it", file=sys.stderr)
    if (workflow.resource_settings.cores or 1) > 1:
        probe_ahead([probed(job) for job in PLAN.jobs])


def probed(job):
    """Return what the fingerprint of the code of a job depends on: its settings, and the size of its data."""
    return job.settings, PLAN.data[job.data].visible if job.data else None


def code_of_job(job):
    """Return the fingerprint of the code of a job."""
    return fingerprint(*probed(job), begin_probing)


def code_of(jobs, name):
    """Return the fingerprint of the code of a job as such a function: the job runs again when it changes."""
    return lambda wildcards: code_of_job(jobs[wildcards[name]])


def recipe_of(data):
    """Return the fingerprint of the code that makes a data set."""
    return recipe_fingerprint(PLAN.data[data].name, PLAN.data[data].options)


def own_files(data):
    """Return the user's own file that a data set is read from, as a list of one or none."""
    entry = PLAN.data[data]
    file = datasets.REGISTRY.create(entry.name, entry.options).own_file
    return [file] if file else []


@cache
def own_content(data):
    """Return the sha256 of that file, "" without: a file that takes its place may be older than the results."""
    for file in own_files(data):
        with open(file, "rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    return ""


def data_of_run(run):
    """Return the data set of a run."""
    return LAYOUT.data_set(PLAN.runs[run].data)


def run_files(runs):
    """Return what the reports read of training runs."""
    return [LAYOUT.job("run", run, name) for run in runs for name in (CURVE, META)]


def files_of(key):
    """Return all files of a figure or table."""
    return LAYOUT.figure_files(key) if key in PLAN.figures else LAYOUT.table_files(key)


def spec_text(key):
    """Return the spec of a figure or table, in ASCII: Snakemake writes it in the encoding of the user's locale."""
    return json.dumps(PLAN.outputs[key].spec.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"


@cache
def template_of_kind(kind):
    """Return the notebook of a kind of figures or tables; None if there is none of its own."""
    with suppress(WorkflowError):
        own = file_of(f"notebooks/{kind}.ipynb")
        return own if os.path.isfile(own) else None


def template_of(key):
    """Return the notebook that renders a figure or table: that of its kind, or the general one."""
    general = "figure" if key in PLAN.figures else "table"
    return template_of_kind(PLAN.outputs[key].spec.kind) or file_of(f"notebooks/{general}.ipynb")


# How `snakemake --report` lists figures and tables.


def paper_of(name):
    """Return the title of the paper of a figure or table, as a function of wildcards."""
    titles = {paper.key: paper.title for paper in CONFIGURATION.papers}
    return lambda wildcards: titles[PLAN.outputs[wildcards[name]].spec.paper]


def label_of(name):
    """Return number, title and caption of a figure or table as such a function, which reads the caption of its page."""

    def label(wildcards, output):
        spec = PLAN.outputs[wildcards[name]].spec
        *_, caption = Path(output.md).read_text(encoding="utf-8").strip().split("\n\n")[:2]
        return {"result": spec.number, "title": spec.title, "caption": caption}

    return label
