# SPDX-License-Identifier: BSD-3-Clause
# Bias and variance of gradient estimates of trained models, against their model expectations.


rule compute_ground_truth:
    input:
        data=lambda wildcards: data_of_run(PLAN.ground_truths[wildcards.truth].run),
        model=lambda wildcards: LAYOUT.job("run", PLAN.ground_truths[wildcards.truth].run, MODEL),
    output:
        truth=LAYOUT.job("ground_truth", "{truth}", TRUTH),
        meta=LAYOUT.job("ground_truth", "{truth}", META),
    log:
        LAYOUT.log("gradients", "{truth}"),
    group:
        batch_of("short_truths", "truth")
    threads: 1
    resources:
        mem_mb=mem_mb_of("truth"),
        runtime=runtime_of("truth"),
    params:
        settings=lambda wildcards: PLAN.ground_truths[wildcards.truth].settings.canonical(),
        code=code_of(PLAN.ground_truths, "truth"),
        run=subpath(input.model, parent=True),
        checkpoint=LAYOUT.checkpoint("{truth}"),
        folder=subpath(output.meta, parent=True),
        scale=PLAN.scale,
    shell:
        "rbmbench ground-truth --settings {params.settings:q} --data {input.data:q} --model {params.run:q}"
        " --checkpoint {params.checkpoint:q}"
        " --threads {threads} --scale {params.scale:q} --out {params.folder:q} --log {log:q}"


rule measure_bias:
    input:
        data=lambda wildcards: data_of_run(PLAN.estimates[wildcards.estimate].run),
        model=lambda wildcards: LAYOUT.job("run", PLAN.estimates[wildcards.estimate].run, MODEL),
        truths=lambda wildcards: [
            LAYOUT.job("ground_truth", truth, TRUTH) for truth in PLAN.estimates[wildcards.estimate].ground_truths
        ],
    output:
        bias=LAYOUT.job("estimate", "{estimate}", BIAS),
        meta=LAYOUT.job("estimate", "{estimate}", META),
    log:
        LAYOUT.log("gradients", "{estimate}"),
    group:
        batch_of("short_estimates", "estimate")
    threads: 1
    resources:
        mem_mb=mem_mb_of("estimate"),
        runtime=runtime_of("estimate"),
    params:
        settings=lambda wildcards: PLAN.estimates[wildcards.estimate].settings.canonical(),
        code=code_of(PLAN.estimates, "estimate"),
        run=subpath(input.model, parent=True),
        checkpoint=LAYOUT.checkpoint("{estimate}"),
        folder=subpath(output.meta, parent=True),
        scale=PLAN.scale,
    shell:
        "rbmbench estimate --settings {params.settings:q} --data {input.data:q} --model {params.run:q}"
        " --checkpoint {params.checkpoint:q}"
        " --ground-truths {input.truths:q} --threads {threads} --scale {params.scale:q}"
        " --out {params.folder:q} --log {log:q}"
