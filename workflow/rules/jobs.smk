# SPDX-License-Identifier: BSD-3-Clause
# The computations: two rules for each kind of job of rbmbench.jobs, one of which computes a job, or joins its blocks of
# trials, and one of which computes such a block; and a rule for each bundle of short jobs, which Snakemake prefers to
# those of single jobs, because it has no wildcards. Checkpoints are no outputs: a failed job loses its outputs, and
# continues from its checkpoint.


for kind in jobs.kinds():
    for folder, rule_suffix, id_suffix in (
        (kind.folder, "", ""),
        (f"{BLOCKS_FOLDER}/{kind.folder}", "_block", r"[/]\d+-\d+"),
    ):

        rule:
            name:
                f"{kind.rule}{rule_suffix}"
            input:
                data=lambda wildcards: data_of_job(job_of(wildcards.job)),
                before=lambda wildcards: files_before(wildcards.job),
            output:
                [LAYOUT.job(folder, "{job}", file) for file in (*kind.files, META)],
            log:
                LAYOUT.log(kind.name, "{job}"),
            wildcard_constraints:
                job=rf"[^/]+{'-' * bool(kind.infix)}{kind.infix}-[0-9a-f]{{10}}{id_suffix}",
            priority: lambda wildcards: priority_of(wildcards.job)
            group:
                batch_of(f"short_{kind.folder}", gpus_of(kind))
            threads: 1
            resources:
                mem_mb=lambda wildcards, attempt: request_of(wildcards.job).megabytes_at(attempt),
                runtime=lambda wildcards, attempt: request_of(wildcards.job).minutes_at(attempt),
                gpu=gpus_of(kind),
            params:
                kind=kind.name,
                settings=lambda wildcards: settings_of(wildcards.job),
                code=lambda wildcards: code_of_job(job_of(wildcards.job)),
                arguments=lambda wildcards: arguments_of(wildcards.job),
                checkpoint=LAYOUT.checkpoint("{job}"),
                folder=subpath(output[0], parent=True),
                scale=PLAN.scale,
            message:
                "{TITLES:{wildcards.job}}"
            shell:
                "rbmbench job {params.kind} --settings {params.settings:q} {params.arguments}"
                " --checkpoint {params.checkpoint:q} --threads {threads} --scale {params.scale:q}"
                " --out {params.folder:q} --log {log:q}"


for bundle in BUNDLES:

    rule:
        name:
            bundle.id
        input:
            data=sorted({file for job in bundle.jobs for file in data_of_job(job)}),
            before=sorted({file for job in bundle.jobs for file in files_before(job.id)}),
        output:
            [file for job in bundle.jobs for file in PLAN.files(job)],
        log:
            LAYOUT.log("bundles", bundle.id),
        priority: max(priority_of(job.id) for job in bundle.jobs)
        resources:
            mem_mb=more_each_attempt(max(request_of(job.id).megabytes for job in bundle.jobs)),
            runtime=more_each_attempt(LEAST_MINUTES),
            gpu=gpus_of(jobs.of_name(bundle.jobs[0].kind)),
        params:
            code=partial(codes_of_bundle, bundle),
            commands=[command_of(job) for job in bundle.jobs],
        message:
            f"{{TITLES:{bundle.id}}}"
        shell:
            "rbmbench bundle {params.commands:q} --log {log:q}"
