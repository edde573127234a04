# SPDX-License-Identifier: BSD-3-Clause
# The computations: two rules for each kind of job of rbmbench.jobs, one of which computes a job, or joins its blocks of
# trials, and one of which computes such a block. Checkpoints are no outputs: a failed job loses its outputs, and goes on
# from its checkpoint.


for kind in jobs.kinds():

    rule:
        name:
            kind.rule
        input:
            data=lambda wildcards: data_of_job(PLAN.jobs[wildcards.job]),
            before=lambda wildcards: files_before(PLAN.jobs[wildcards.job]),
        output:
            [LAYOUT.job(kind.folder, "{job}", file) for file in (*kind.files, META)],
        log:
            LAYOUT.log(kind.name, "{job}"),
        wildcard_constraints:
            job=rf"[^/]+{'-' * bool(kind.infix)}{kind.infix}-[0-9a-f]{{10}}",
        group:
            batch_of(f"short_{kind.folder}")
        threads: 1
        resources:
            mem_mb=lambda wildcards, attempt: request_of_job(wildcards.job).megabytes_at(attempt),
            runtime=lambda wildcards, attempt: request_of_job(wildcards.job).minutes_at(attempt),
            gpu=gpu_count() if kind.takes_gpu else 0,
        params:
            kind=kind.name,
            settings=lambda wildcards: PLAN.jobs[wildcards.job].settings.canonical(),
            code=lambda wildcards: code_of_job(PLAN.jobs[wildcards.job]),
            arguments=lambda wildcards: arguments_of_job(PLAN.jobs[wildcards.job]),
            checkpoint=LAYOUT.checkpoint("{job}"),
            folder=subpath(output[0], parent=True),
            scale=PLAN.scale,
        message:
            "{TITLES:{wildcards.job}}"
        shell:
            "rbmbench job {params.kind} --settings {params.settings:q} {params.arguments}"
            " --checkpoint {params.checkpoint:q} --threads {threads} --scale {params.scale:q}"
            " --out {params.folder:q} --log {log:q}"

    rule:
        name:
            f"{kind.rule}_block"
        input:
            data=lambda wildcards: data_of_job(BLOCKS[wildcards.block].job),
            before=lambda wildcards: [
                file for name in PLAN.before(BLOCKS[wildcards.block].job) for file in PLAN.files(PLAN.jobs[name])
            ],
        output:
            [LAYOUT.job("blocks", "{block}", file) for file in (*kind.files, META)],
        log:
            LAYOUT.log(kind.name, "{block}"),
        wildcard_constraints:
            block=rf"[^/]+{'-' * bool(kind.infix)}{kind.infix}-[0-9a-f]{{10}}/\d+-\d+",
        threads: 1
        resources:
            mem_mb=lambda wildcards, attempt: request_of_block(wildcards.block).megabytes_at(attempt),
            runtime=lambda wildcards, attempt: request_of_block(wildcards.block).minutes_at(attempt),
            gpu=gpu_count() if kind.takes_gpu else 0,
        params:
            kind=kind.name,
            settings=lambda wildcards: settings_of_block(BLOCKS[wildcards.block]),
            code=lambda wildcards: code_of_job(BLOCKS[wildcards.block].job),
            arguments=lambda wildcards: arguments_of_block(BLOCKS[wildcards.block]),
            checkpoint=LAYOUT.checkpoint("{block}"),
            folder=subpath(output[0], parent=True),
            scale=PLAN.scale,
        message:
            "{TITLES:{wildcards.block}}"
        shell:
            "rbmbench job {params.kind} --settings {params.settings:q} {params.arguments}"
            " --checkpoint {params.checkpoint:q} --threads {threads} --scale {params.scale:q}"
            " --out {params.folder:q} --log {log:q}"
