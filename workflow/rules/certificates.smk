# SPDX-License-Identifier: BSD-3-Clause
# Certificates of trained models: log Z from both sides, and long chains beside the rows.


rule certify_models:
    input:
        data=lambda wildcards: data_of_run(PLAN.certificates[wildcards.certificate].run),
        model=lambda wildcards: LAYOUT.job("run", PLAN.certificates[wildcards.certificate].run, MODEL),
    output:
        quantities=LAYOUT.job("certificate", "{certificate}", CERTIFICATE),
        meta=LAYOUT.job("certificate", "{certificate}", META),
    log:
        LAYOUT.log("certificates", "{certificate}"),
    group:
        batch_of("short_certificates", "certificate")
    threads: 1
    resources:
        mem_mb=mem_mb_of("certificate"),
        runtime=runtime_of("certificate"),
    params:
        settings=lambda wildcards: PLAN.certificates[wildcards.certificate].settings.canonical(),
        code=code_of(PLAN.certificates, "certificate"),
        run=subpath(input.model, parent=True),
        checkpoint=LAYOUT.checkpoint("{certificate}"),
        folder=subpath(output.meta, parent=True),
        scale=PLAN.scale,
    shell:
        "rbmbench certificate --settings {params.settings:q} --data {input.data:q} --model {params.run:q}"
        " --checkpoint {params.checkpoint:q}"
        " --threads {threads} --scale {params.scale:q} --out {params.folder:q} --log {log:q}"
