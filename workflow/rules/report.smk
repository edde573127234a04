# Verdicts on the papers' claims, and the page that shows everything of a scale.


rule check_claims:
    input:
        specs=[LAYOUT.spec(key) for key in PLAN.outputs],
        claims=[f"config/claims/{paper}.yaml" for paper in PLAN.papers],
        template="notebooks/claims.ipynb",
        results=[file for output in PLAN.outputs.values() for file in output.spec.files()],
    output:
        csv=LAYOUT.claims,
        spec=LAYOUT.spec("claims"),
        notebook=LAYOUT.notebook("claims"),
        page=LAYOUT.notebook("claims", "html"),
    log:
        LAYOUT.log("render", "claims", "ipynb"),
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(60),
    params:
        scale=PLAN.scale,
    shell:
        "rbmbench claims --scale {params.scale} --specs {input.specs} --claims {input.claims} --spec {output.spec}"
        " --csv {output.csv} --template {input.template} --notebook {output.notebook} --page {output.page} --log {log}"


rule write_report:
    input:
        specs=[LAYOUT.spec(key) for key in PLAN.outputs],
        rendered=[file for key in PLAN.outputs for file in files_of(key)],
        claims=LAYOUT.claims,
        results=[file for output in PLAN.outputs.values() for file in output.spec.files()],
    output:
        LAYOUT.report,
    log:
        LAYOUT.log("report", "report"),
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(30),
    params:
        folder=subpath(input.claims, parent=True),
    shell:
        "rbmbench report --folder {params.folder} --specs {input.specs} --out {output} 2>&1 | tee -i {log} >&2"
