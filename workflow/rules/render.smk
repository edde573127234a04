# Figures and tables. Each has a spec (what to show) and is made by the notebook of its kind.


rule write_spec:
    output:
        LAYOUT.spec("{key}"),
    log:
        LAYOUT.log("specs", "{key}"),
    wildcard_constraints:
        key="[a-z0-9_]+_(fig|table)[a-z0-9_]*",
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=500,
        runtime=10,
    params:
        values=lambda wildcards: PLAN.outputs[wildcards.key].spec.canonical(),
    shell:
        "rbmbench spec --values {params.values:q} --out {output} 2>&1 | tee -i {log} >&2"


rule render_figure:
    input:
        spec=LAYOUT.spec("{figure}"),
        template=lambda wildcards: template_of(wildcards.figure),
        results=lambda wildcards: PLAN.outputs[wildcards.figure].spec.files(),
    output:
        pdf=LAYOUT.figure("{figure}", "pdf"),
        png=LAYOUT.figure("{figure}", "png"),
        md=LAYOUT.figure("{figure}", "md"),
        csv=LAYOUT.numbers("{figure}"),
        notebook=LAYOUT.notebook("{figure}"),
        page=LAYOUT.notebook("{figure}", "html"),
    log:
        LAYOUT.log("render", "{figure}", "ipynb"),
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(30),
    shell:
        "rbmbench render --template {input.template} --set spec={input.spec} pdf={output.pdf} png={output.png}"
        " md={output.md} csv={output.csv} --notebook {output.notebook} --page {output.page} --log {log}"


rule render_table:
    input:
        spec=LAYOUT.spec("{table}"),
        template=lambda wildcards: template_of(wildcards.table),
        results=lambda wildcards: PLAN.outputs[wildcards.table].spec.files(),
    output:
        csv=LAYOUT.table("{table}", "csv"),
        md=LAYOUT.table("{table}", "md"),
        tex=LAYOUT.table("{table}", "tex"),
        notebook=LAYOUT.notebook("{table}"),
        page=LAYOUT.notebook("{table}", "html"),
    log:
        LAYOUT.log("render", "{table}", "ipynb"),
    conda:
        "../../environment.yml"
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(30),
    shell:
        "rbmbench render --template {input.template} --set spec={input.spec} csv={output.csv} md={output.md}"
        " tex={output.tex} --notebook {output.notebook} --page {output.page} --log {log}"
