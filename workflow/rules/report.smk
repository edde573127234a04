# SPDX-License-Identifier: BSD-3-Clause
# Verdicts on the papers' claims, and the page with all results of a scale.


rule check_claims:
    input:
        specs=LAYOUT.specs,
        claims=[f"{os.path.dirname(CONFIG)}/claims/{paper}.yaml" for paper in PLAN.papers],
        template=file_of("notebooks/claims.ipynb"),
        results=[file for output in PLAN.outputs.values() for file in output.spec.files()],
    output:
        csv=report(LAYOUT.claims, caption="../report/claims.rst", category="Claims"),
        json=LAYOUT.verdicts,
        spec=LAYOUT.spec("claims"),
        notebook=LAYOUT.notebook("claims"),
        page=LAYOUT.notebook("claims", "html"),
    log:
        text=LAYOUT.log("render", "claims"),
        notebook=LAYOUT.log("render", "claims", "ipynb"),
    # Before figures that wait: the page waits for the verdicts, and then runs alone.
    priority: 2
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(60),
    params:
        scale=PLAN.scale,
    message:
        "verdicts"
    shell:
        "rbmbench claims --scale {params.scale:q} --specs {input.specs:q} --claims {input.claims:q} --spec {output.spec:q}"
        " --csv {output.csv:q} --template {input.template:q} --notebook {output.notebook:q} --page {output.page:q}"
        " --partial {log.notebook:q} --log {log.text:q}"


SHOWN_OF_CONFIG = ("scale", "papers", "overrides")


rule write_report:
    input:
        specs=[LAYOUT.spec(key) for key in PLAN.outputs],
        rendered=[file for key in PLAN.outputs for file in files_of(key)],
        claims=LAYOUT.verdicts,
        results=[file for output in PLAN.outputs.values() for file in output.spec.files()],
    output:
        report(LAYOUT.report, caption="../report/page.rst", category="Page of results"),
    log:
        LAYOUT.log("report", "report"),
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(30),
    params:
        folder=subpath(input.claims, parent=True),
        config=CONFIG,
        overlays=OVERLAYS,
        # Keys that the page does not show, such as sources of data, do not make it anew.
        values=json.dumps({key: config[key] for key in SHOWN_OF_CONFIG if key in config}, sort_keys=True),
        code=lambda wildcards: sorted({code_of_job(job) for job in PLAN.jobs.values()}),
    message:
        "report"
    shell:
        "rbmbench report {params.folder:q} --specs {input.specs:q} --config {params.config:q}"
        " --configfile {params.overlays:q} --values {params.values:q}"
        " --out {output:q} --log {log:q}"
