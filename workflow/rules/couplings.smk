# SPDX-License-Identifier: BSD-3-Clause
# Stopping times of coupled chains of a random model: no data, no training.


rule couple_chains:
    output:
        times=LAYOUT.job("coupling", "{coupling}", STOPPING_TIMES),
        meta=LAYOUT.job("coupling", "{coupling}", META),
    log:
        LAYOUT.log("couplings", "{coupling}"),
    threads: 1
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(240),
    params:
        settings=lambda wildcards: PLAN.couplings[wildcards.coupling].settings.canonical(),
        checkpoint=LAYOUT.checkpoint("{coupling}"),
        code=code_of(PLAN.couplings, "coupling"),
        folder=subpath(output.meta, parent=True),
        scale=PLAN.scale,
    shell:
        "rbmbench couple --settings {params.settings:q} --threads {threads} --scale {params.scale:q}"
        " --checkpoint {params.checkpoint:q}"
        " --out {params.folder:q} --log {log:q}"
