# SPDX-License-Identifier: BSD-3-Clause
# The computations: one rule for each kind of job of rbmbench.jobs. Checkpoints are no outputs: a failed job loses its
# outputs, and goes on from its checkpoint.


for kind in jobs.kinds():

    rule:
        name:
            kind.rule
        input:
            data=data_of_job,
            before=files_before,
        output:
            [LAYOUT.job(kind.folder, "{job}", file) for file in (*kind.files, META)],
        log:
            LAYOUT.log(kind.name, "{job}"),
        wildcard_constraints:
            job=rf"[^/]+{'-' * bool(kind.infix)}{kind.infix}-[0-9a-f]{{10}}",
        group:
            batch_of(f"short_{kind.name}")
        threads: 1
        resources:
            mem_mb=lambda wildcards, attempt: requested()[wildcards.job].megabytes_at(attempt),
            runtime=lambda wildcards, attempt: requested()[wildcards.job].minutes_at(attempt),
            gpu=gpu_count() if kind.takes_gpu else 0,
        params:
            command="train" if kind.name == "train" else f"job {kind.name}",
            settings=lambda wildcards: PLAN.jobs[wildcards.job].settings.canonical(),
            code=lambda wildcards: code_of_job(PLAN.jobs[wildcards.job]),
            inputs=inputs_of_job,
            checkpoint=LAYOUT.checkpoint("{job}"),
            folder=subpath(output[0], parent=True),
            scale=PLAN.scale,
        message:
            "{TITLES:{wildcards.job}}"
        shell:
            "rbmbench {params.command} --settings {params.settings:q} {params.inputs}"
            " --checkpoint {params.checkpoint:q} --threads {threads} --scale {params.scale:q}"
            " --out {params.folder:q} --log {log:q}"
