# Figures and tables. Each has a spec (what to show) and is made by the notebook of its kind.


rule write_spec:
    output:
        f"{RESULTS}/specs/{{key}}.json",
    log:
        f"{RESULTS}/logs/specs/{{key}}.log",
    wildcard_constraints:
        key="[a-z0-9_]+_(fig|table)[a-z0-9_]*",
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=500,
        runtime=10,
    params:
        values=lambda wildcards: json.dumps(result_of(wildcards.key).spec, sort_keys=True),
    shell:
        "rbmbench spec --values {params.values:q} --out {output} 2>&1 | tee -i {log} >&2"


rule render_figure:
    input:
        spec=f"{RESULTS}/specs/{{figure}}.json",
        template=lambda wildcards: template_of(wildcards.figure),
        results=lambda wildcards: figure_inputs(PLAN.figures[wildcards.figure]),
    output:
        pdf=f"{RESULTS}/figures/{{figure}}.pdf",
        png=f"{RESULTS}/figures/{{figure}}.png",
        csv=f"{RESULTS}/data/{{figure}}.csv",
        notebook=f"{RESULTS}/notebooks/{{figure}}.ipynb",
        page=f"{RESULTS}/notebooks/{{figure}}.html",
    log:
        f"{RESULTS}/logs/render/{{figure}}.ipynb",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(30),
    shell:
        "rbmbench render --template {input.template} --set spec={input.spec} pdf={output.pdf} png={output.png}"
        " csv={output.csv} --notebook {output.notebook} --page {output.page} --log {log}"


rule render_table:
    input:
        spec=f"{RESULTS}/specs/{{table}}.json",
        template=lambda wildcards: template_of(wildcards.table),
        results=lambda wildcards: table_inputs(PLAN.tables[wildcards.table]),
    output:
        csv=f"{RESULTS}/tables/{{table}}.csv",
        md=f"{RESULTS}/tables/{{table}}.md",
        tex=f"{RESULTS}/tables/{{table}}.tex",
        notebook=f"{RESULTS}/notebooks/{{table}}.ipynb",
        page=f"{RESULTS}/notebooks/{{table}}.html",
    log:
        f"{RESULTS}/logs/render/{{table}}.ipynb",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(30),
    shell:
        "rbmbench render --template {input.template} --set spec={input.spec} csv={output.csv} md={output.md}"
        " tex={output.tex} --notebook {output.notebook} --page {output.page} --log {log}"
