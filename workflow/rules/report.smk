# Verdicts on the papers' claims, and the page that shows everything of a scale.


rule check_claims:
    input:
        figures=spec_files(PLAN.figures),
        tables=spec_files(PLAN.tables),
        claims=[f"config/claims/{paper}.yaml" for paper in PLAN.papers],
        template="notebooks/claims.ipynb",
        shown=[file for figure in PLAN.figures.values() for file in figure_inputs(figure)],
        tabulated=[file for table in PLAN.tables.values() for file in table_inputs(table)],
    output:
        csv=f"{RESULTS}/claims.csv",
        spec=f"{RESULTS}/specs/claims.json",
        notebook=f"{RESULTS}/notebooks/claims.ipynb",
        page=f"{RESULTS}/notebooks/claims.html",
    log:
        f"{RESULTS}/logs/render/claims.ipynb",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(60),
    params:
        scale=PLAN.scale,
    shell:
        "rbmbench claims --scale {params.scale} --figures {input.figures} --tables {input.tables}"
        " --claims {input.claims} --spec {output.spec} --csv {output.csv} --template {input.template}"
        " --notebook {output.notebook} --page {output.page} --log {log}"


rule write_report:
    input:
        figures=spec_files(PLAN.figures),
        tables=spec_files(PLAN.tables),
        rendered=[file for key in [*PLAN.figures, *PLAN.tables] for file in files_of(key)],
        claims=f"{RESULTS}/claims.csv",
        shown=[file for figure in PLAN.figures.values() for file in figure_inputs(figure)],
    output:
        f"{RESULTS}/report/index.html",
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(30),
    params:
        scale=PLAN.scale,
    shell:
        "rbmbench report --scale {params.scale} --figures {input.figures} --tables {input.tables}"
        " --claims {input.claims} --out {output} 2>&1 | tee -i {log} >&2"
