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
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=mem_mb_of("run"),
        runtime=runtime_of("run"),
        gpu=gpu_count(),
    params:
        settings=lambda wildcards: PLAN.runs[wildcards.run].settings.canonical(),
        checkpoint=LAYOUT.checkpoint("{run}"),
        folder=subpath(output.meta, parent=True),
        scale=PLAN.scale,
    shell:
        "rbmbench train --settings {params.settings:q} --data {input.data} --checkpoint {params.checkpoint}"
        " --threads {threads} --scale {params.scale} --run-id {wildcards.run} --out {params.folder}"
        " 2>&1 | tee -i {log} >&2"
