# SPDX-License-Identifier: BSD-3-Clause
# Log-likelihoods of runs that are too large for an exact partition function, by annealed importance sampling of their
# snapshots. Apart from training: another budget of the annealing does not train anew.


rule evaluate_run:
    input:
        data=lambda wildcards: data_of_run(PLAN.evaluations[wildcards.evaluation].run),
        run=lambda wildcards: LAYOUT.job_files("run", PLAN.evaluations[wildcards.evaluation].run),
    output:
        curve=LAYOUT.job("evaluation", "{evaluation}", CURVE),
        meta=LAYOUT.job("evaluation", "{evaluation}", META),
    log:
        LAYOUT.log("evaluate", "{evaluation}"),
    group:
        batch_of("short_evaluations", "evaluation")
    threads: 1
    resources:
        mem_mb=mem_mb_of("evaluation"),
        runtime=runtime_of("evaluation"),
        gpu=gpu_count(),
    params:
        settings=lambda wildcards: PLAN.evaluations[wildcards.evaluation].settings.canonical(),
        code=code_of(PLAN.evaluations, "evaluation"),
        run=lambda wildcards: LAYOUT.job("run", PLAN.evaluations[wildcards.evaluation].run),
        checkpoint=LAYOUT.checkpoint("{evaluation}"),
        folder=subpath(output.meta, parent=True),
        evaluations=subpath(output.meta, ancestor=2),
        scale=PLAN.scale,
    shell:
        "rbmbench evaluate --settings {params.settings:q} --data {input.data:q} --model {params.run:q}"
        " --checkpoint {params.checkpoint:q} --threads {threads} --scale {params.scale:q}"
        " --extends {params.evaluations:q} --out {params.folder:q} --log {log:q}"
