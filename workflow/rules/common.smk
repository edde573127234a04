# SPDX-License-Identifier: BSD-3-Clause
# Functions and values of all rules: the checked plan of the jobs, and the commands of the package.

import gc
import hashlib
import json
import math
import os
import shlex
import sys
from functools import cache, partial
from pathlib import Path

from rbmbench import datasets, jobs
from rbmbench.base import plugins
from rbmbench.base.errors import RbmbenchError, SettingsError
from rbmbench.cli import snakemake_scheduler, snakemake_slurm
from rbmbench.cli.computing import check_environment
from rbmbench.cli.job_lines import Titles
from rbmbench.cli.snakemake_logger import LoggedWorkflow
from rbmbench.config.loading import load
from rbmbench.io.layout import BLOCKS as BLOCKS_FOLDER
from rbmbench.io.layout import CURVE, META, RUNS
from rbmbench.io.results import check_writable, date_back
from rbmbench.jobs.fingerprints import fingerprint, probe_ahead, recipe_fingerprint
from rbmbench.planning.blocks import blocks_of
from rbmbench.planning.bundles import bundles_of
from rbmbench.planning.forecast.jobs import LEAST_MINUTES, jobs_of, priorities, request
from rbmbench.planning.plan import plan
from rbmbench.reporting.claims import files as claim_files


def checked_plan():
    """Return the configuration and its plan, or end with one line on its first error."""
    modifier = workflow.modifier.path_modifier
    try:
        check_environment()
        if modifier.prefix or modifier.modifies_prefixes:
            raise SettingsError("module: prefix: is not supported; results are written to results/SCALE")
        fetch_papers(config.get("papers") or ())
        configuration = load([CONFIG, *OVERLAYS], config)
        claim_files.check(Path(CONFIG).parent / "claims", configuration)
        planned = plan(configuration)
        for folder in (planned.layout.root, *Path(planned.layout.root).glob("*/")):
            if str(folder) != planned.layout.logs:  # jobs run without them
                check_writable(folder)
        return configuration, planned
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


# Plans, jobs and compiled kernels stay as long as Snakemake runs, so that collections of garbage find little.
gc.set_threshold(500_000)
snakemake_scheduler.install()
snakemake_slurm.install()
OVERLAYS = [os.path.relpath(file) for file in workflow.overwrite_configfiles]
CONFIGURATION, PLAN = checked_plan()
LAYOUT = PLAN.layout
LOGGED = LoggedWorkflow(workflow, PLAN)

# The steps run the `rbmbench` beside the Python that runs Snakemake: no environment has to be activated.
os.environ.update(step_environment())


wildcard_constraints:
    data="[a-z][a-z0-9_]*",
    figure="[a-z0-9_]+_fig[a-z0-9_]*",
    table="[a-z0-9_]+_table[a-z0-9_]*",


# Inputs of jobs, and their requests of a scheduler. The wildcard `job` is the id of a job of the plan, or of a block.


BLOCKS_OF = {name: blocks_of(PLAN, job) for name, job in PLAN.jobs.items()}
BLOCKS = {block.id: block for blocks in BLOCKS_OF.values() for block in blocks}
BUNDLES = bundles_of(PLAN)
TITLES = Titles(PLAN, BLOCKS.values(), BUNDLES)
# Messages are formatted with the names of the outermost workflow, also where this one is a module of it.
workflow.modifier_stack[0].globals["TITLES"] = TITLES


def job_of(name):
    """Return the job of an id, or that which a block is a part of."""
    return BLOCKS[name].job if name in BLOCKS else PLAN.jobs[name]


def data_of_job(job):
    """Return the data set that a job reads, as a list of one or none."""
    return [LAYOUT.data_set(job.data)] if job.data else []


def files_before(name):
    """Return the files of the jobs that a job or a block reads, and those of the blocks that a job joins."""
    files = [file for before in PLAN.before(job_of(name)) for file in PLAN.files(PLAN.jobs[before])]
    for block in BLOCKS_OF.get(name, ()):
        files += [LAYOUT.job(block.folder, block.id, file) for file in (*jobs.of_name(block.job.kind).files, META)]
    return files


def settings_of(name):
    """Return the settings; those of a block do not depend on the number of trials of the job."""
    job = job_of(name)
    return (jobs.of_name(job.kind).of_any_trials(job.settings) if name in BLOCKS else job.settings).canonical()


def arguments_of(name):
    """Return the arguments of the command that computes a job or a block, or joins the blocks of a job."""
    job = job_of(name)
    arguments = ["--data", LAYOUT.data_set(job.data)] if job.data else []
    arguments += ["--model", PLAN.folder(PLAN.jobs[job.run])] if job.run else []
    arguments += ["--needs", *(PLAN.folder(PLAN.jobs[needed]) for needed in job.needs)] if job.needs else []
    if name in BLOCKS:
        return shlex.join([*arguments, "--block", f"{BLOCKS[name].first}-{BLOCKS[name].count}"])
    arguments += ["--run-id", job.id] if job.kind == "train" else []
    folders = [LAYOUT.job(block.folder, block.id) for block in BLOCKS_OF[name]]
    return shlex.join([*arguments, *(["--blocks", *folders] if folders else [])])


def command_of(job):
    """Return the subcommand of `rbmbench` that computes a job of a bundle."""
    arguments = ["job", job.kind, "--settings", job.settings.canonical(), "--checkpoint", LAYOUT.checkpoint(job.id)]
    arguments += ["--scale", PLAN.scale, "--out", PLAN.folder(job)]
    return f"{shlex.join(arguments)} {arguments_of(job.id)}"


def codes_of_bundle(bundle, wildcards):
    """Return the fingerprints of the code of the jobs of a bundle."""
    return [code_of_job(job) for job in bundle.jobs]


@cache
def counted():
    """Return the jobs of the plan with their work, by id."""
    return jobs_of(PLAN)


@cache
def requested():
    """Return the request of every job, by its id."""
    return {name: request(job.work, gpus_of(jobs.of_name(PLAN.jobs[name].kind))) for name, job in counted().items()}


def request_of(name):
    """Return the request of a job or a block: of a block its share of the job's time; to join blocks takes no time."""
    whole = requested()[job_of(name).id]
    if name in BLOCKS:
        return whole._replace(minutes=max(LEAST_MINUTES, math.ceil(BLOCKS[name].share * whole.minutes)))
    return whole._replace(minutes=LEAST_MINUTES) if BLOCKS_OF[name] else whole


@cache
def longest_first():
    """Return the priority of every job by its id, less than 1: that of other rules, which are short."""
    return priorities(counted())


def priority_of(name):
    """Return the priority of a job or a block: the larger, the longer the jobs take that need it."""
    return longest_first()[job_of(name).id]


def more_each_attempt(amount):
    """Return a request of memory or of time, proportional to the attempt, as a function of wildcards and attempt."""
    return lambda wildcards, attempt: attempt * amount


def gpus_of(kind):
    """Return the GPUs of a job of a kind: one if it trains or anneals and the backend is cupy."""
    return int(kind.takes_gpu and os.environ.get("RBMBENCH_BACKEND") == "cupy")


def batch_of(group, gpus):
    """Return a group of jobs that are submitted together, as such a function: the short ones that need no GPU."""
    return lambda wildcards: group if request_of(wildcards.job).short and not gpus else None


# Dependencies of the results besides settings: code, and files of the user.


@cache
def begin_probing():
    """Print, once, the reason for the delay, and start a process on a second core."""
    print("rbmbench: fingerprinting the code, once after a change of it", file=sys.stderr)
    if (workflow.resource_settings.cores or 1) > 1:
        probe_ahead([probed(job) for job in PLAN.jobs.values()])


def probed(job):
    """Return the arguments of the fingerprint of the code of a job: its settings, and the size of its data."""
    return job.settings, PLAN.data[job.data].visible if job.kind == "train" else None


@cache
def code_of(name):
    """Return the fingerprint of the code of the job of an id."""
    return fingerprint(*probed(PLAN.jobs[name]), begin_probing)


def code_of_job(job):
    """Return the fingerprint of the code of a job and of the jobs before it: the job runs again when it changes."""
    return origin_of((job.id,)) if PLAN.before(job) else code_of(job.id)


@cache
def origin_of(names):
    """Return the fingerprint of the code and data of the jobs of some ids, and of those of all jobs before them.

    A job that runs again and fails loses its results. Results of those after it are older than no file then, and
    differ from those of a first run by this fingerprint alone.
    """
    parts = []
    for job in map(PLAN.jobs.get, names):
        data = [recipe_of(job.data), own_content(job.data)] if job.data else []
        parts.append([code_of(job.id), data, origin_of(PLAN.before(job))])
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:10]


@cache
def recipe_of(data):
    """Return the fingerprint of the code that makes a data set."""
    return recipe_fingerprint(PLAN.data[data].name, PLAN.data[data].options)


def own_files(data):
    """Return the file of the user that a data set is read from, as a list of one or none."""
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


def files_of(key):
    """Return all files of a figure or table."""
    return LAYOUT.figure_files(key) if key in PLAN.figures else LAYOUT.table_files(key)


MOST_CHARACTERS_OF_ARGUMENT = 60_000


@cache
def spec_text(key):
    """Return the spec of a figure or table, in ASCII: Snakemake writes it in the encoding of the user's locale."""
    return json.dumps(PLAN.outputs[key].spec.model_dump(mode="json"))


def spec_argument(key):
    """Return the spec of a figure or table, or the file of all specs if it is too long for an argument."""
    return LAYOUT.specs if long_spec(key) else spec_text(key)


def long_spec(key):
    """Return the file of all specs, as a list, if that of a figure or table is too long for an argument; else none."""
    return [LAYOUT.specs] * (len(spec_text(key)) > MOST_CHARACTERS_OF_ARGUMENT)


@cache
def template_of_kind(kind):
    """Return the notebook of a kind of figures or tables; None if there is none."""
    with suppress(WorkflowError):
        notebook = file_of(f"notebooks/{kind}.ipynb")
        return notebook if os.path.isfile(notebook) else None


def template_of(key):
    """Return the notebook that renders a figure or table: that of its kind, or the general one."""
    general = "figure" if key in PLAN.figures else "table"
    return template_of_kind(PLAN.outputs[key].spec.kind) or file_of(f"notebooks/{general}.ipynb")


# Entries of figures and tables in `snakemake --report`.


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
