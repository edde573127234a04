# SPDX-License-Identifier: BSD-3-Clause
# Training runs. The checkpoint is no output: a failed job loses its outputs, and shall go on where it was stopped.


rule train_run:
    input:
        data=lambda wildcards: data_of_run(wildcards.run),
    output:
        curve=LAYOUT.job("run", "{run}", CURVE),
        model=LAYOUT.job("run", "{run}", MODEL),
        meta=LAYOUT.job("run", "{run}", META),
    log:
        LAYOUT.log("train", "{run}"),
    group:
        batch_of("short_runs", "run")
    threads: 1
    resources:
        mem_mb=mem_mb_of("run"),
        runtime=runtime_of("run"),
        gpu=gpu_count(),
    params:
        settings=lambda wildcards: PLAN.runs[wildcards.run].settings.canonical(),
        code=code_of(PLAN.runs, "run"),
        checkpoint=LAYOUT.checkpoint("{run}"),
        folder=subpath(output.meta, parent=True),
        runs=subpath(output.meta, ancestor=2),
        scale=PLAN.scale,
        keeping="--keep-state" if CONFIGURATION.main.keep_states else "",
    shell:
        "rbmbench train --settings {params.settings:q} --data {input.data:q} --checkpoint {params.checkpoint:q}"
        " --threads {threads} --scale {params.scale:q} --run-id {wildcards.run:q} --extends {params.runs:q}"
        " {params.keeping}"
        " --out {params.folder:q} --log {log:q}"
