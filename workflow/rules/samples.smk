# SPDX-License-Identifier: BSD-3-Clause
# Streams of samples of trained models, by all samplers of a panel, and their indirect sampling likelihoods.


rule sample_models:
    input:
        data=lambda wildcards: data_of_run(PLAN.samples[wildcards.samples].run),
        run=lambda wildcards: LAYOUT.job_files("run", PLAN.samples[wildcards.samples].run),
    output:
        isl=LAYOUT.job("samples", "{samples}", ISL),
        shown=LAYOUT.job("samples", "{samples}", SHOWN),
        meta=LAYOUT.job("samples", "{samples}", META),
    log:
        LAYOUT.log("samples", "{samples}"),
    threads: 1
    resources:
        mem_mb=more_each_attempt(3000),
        runtime=more_each_attempt(360),
    params:
        settings=lambda wildcards: PLAN.samples[wildcards.samples].settings.canonical(),
        code=code_of(PLAN.samples, "samples"),
        run=lambda wildcards: LAYOUT.job("run", PLAN.samples[wildcards.samples].run),
        checkpoint=LAYOUT.checkpoint("{samples}"),
        folder=subpath(output.meta, parent=True),
        scale=PLAN.scale,
    shell:
        "rbmbench sample --settings {params.settings:q} --data {input.data:q} --model {params.run:q}"
        " --checkpoint {params.checkpoint:q}"
        " --threads {threads} --scale {params.scale:q} --out {params.folder:q} --log {log:q}"
