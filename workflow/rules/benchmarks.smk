# SPDX-License-Identifier: BSD-3-Clause
# Times and memory of the runs of a scale, and the speed of training against floors and peers.

from pathlib import Path

MEASURE = file_of("benchmarks/measure.py")
RUN_FOLDERS = [LAYOUT.job(RUNS, run) for run in PLAN.of_kind("train")]


rule tabulate_run_times:
    input:
        runs=[f"{folder}/{name}" for folder in RUN_FOLDERS for name in (CURVE, META)],
    output:
        LAYOUT.benchmark("run_times.csv"),
    log:
        LAYOUT.log("benchmarks", "run_times"),
    localrule: True
    resources:
        mem_mb=500,
        runtime=10,
    params:
        folders=RUN_FOLDERS,
    message:
        "run times"
    shell:
        "rbmbench run-times --runs {params.folders:q} --out {output:q} --log {log:q}"


# Takes all cores, so that nothing else runs beside it and disturbs the measurement.
rule measure_speed:
    input:
        script=MEASURE,
        parts=sorted(path.as_posix() for path in Path(MEASURE).parent.glob("*.py")),
    output:
        csv=LAYOUT.benchmark("steps.csv"),
        meta=LAYOUT.benchmark("steps.meta.json"),
        md=LAYOUT.benchmark("steps.md"),
    log:
        LAYOUT.log("benchmarks", "steps"),
    threads: lambda wildcards: workflow.cores
    resources:
        mem_mb=more_each_attempt(4000),
        runtime=more_each_attempt(60),
    params:
        folder=subpath(output.csv, parent=True),
    message:
        "speed of training steps"
    shell:
        "python {input.script:q} --out {params.folder:q} --log {log:q}"


rule render_speed:
    input:
        csv=LAYOUT.benchmark("steps.csv"),
        meta=LAYOUT.benchmark("steps.meta.json"),
        template=file_of("notebooks/benchmarks.ipynb"),
    output:
        pdf=LAYOUT.benchmark("steps.pdf"),
        png=LAYOUT.benchmark("steps.png"),
        notebook=LAYOUT.notebook("benchmarks"),
        page=LAYOUT.notebook("benchmarks", "html"),
    log:
        text=LAYOUT.log("render", "benchmarks"),
        notebook=LAYOUT.log("render", "benchmarks", "ipynb"),
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(30),
    message:
        "figure of the speed"
    shell:
        "rbmbench render --template {input.template:q} --set csv={input.csv:q} meta={input.meta:q} pdf={output.pdf:q}"
        " png={output.png:q} --notebook {output.notebook:q} --page {output.page:q}"
        " --partial {log.notebook:q} --log {log.text:q}"
