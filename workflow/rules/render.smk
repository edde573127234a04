# SPDX-License-Identifier: BSD-3-Clause
# Figures and tables. Each has a spec, which describes its content, and is made by the notebook of its kind.


# For the claims, and for specs that are too long for an argument. Snakemake fills in the template itself, without a
# process.
rule write_specs:
    input:
        template=ancient(file_of("workflow/templates/spec.json.j2")),
    output:
        LAYOUT.specs,
    log:
        LAYOUT.log("specs", "specs"),
    priority: 1
    localrule: True
    params:
        text=lambda wildcards: ",\n".join(f'"{key}": {spec_text(key)}' for key in PLAN.outputs),
    message:
        "specs"
    template_engine:
        "jinja2"


rule render_figure:
    input:
        specs=lambda wildcards: long_spec(wildcards.figure),
        template=lambda wildcards: template_of(wildcards.figure),
        results=lambda wildcards: PLAN.outputs[wildcards.figure].spec.files(),
    output:
        spec=LAYOUT.spec("{figure}"),
        pdf=LAYOUT.figure("{figure}", "pdf"),
        png=report(
            LAYOUT.figure("{figure}", "png"),
            caption="../report/figure.rst",
            category=paper_of("figure"),
            labels=label_of("figure"),
        ),
        svg=LAYOUT.figure("{figure}", "svg"),
        md=LAYOUT.figure("{figure}", "md"),
        json=LAYOUT.figure("{figure}", "json"),
        csv=LAYOUT.numbers("{figure}"),
        notebook=LAYOUT.notebook("{figure}"),
        page=LAYOUT.notebook("{figure}", "html"),
    log:
        text=LAYOUT.log("render", "{figure}"),
        notebook=LAYOUT.log("render", "{figure}", "ipynb"),
    priority: 1
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(30),
    params:
        spec=lambda wildcards: spec_argument(wildcards.figure),
        origin=lambda wildcards: origin_of(PLAN.outputs[wildcards.figure].jobs),
    message:
        "{TITLES:{wildcards.figure}}: drawn"
    shell:
        "rbmbench render {wildcards.figure} --spec {params.spec:q} --template {input.template:q} --set spec={output.spec:q}"
        " pdf={output.pdf:q} png={output.png:q}"
        " svg={output.svg:q} md={output.md:q} json={output.json:q} csv={output.csv:q} --notebook {output.notebook:q} --page {output.page:q}"
        " --partial {log.notebook:q} --log {log.text:q}"


rule render_table:
    input:
        specs=lambda wildcards: long_spec(wildcards.table),
        template=lambda wildcards: template_of(wildcards.table),
        results=lambda wildcards: PLAN.outputs[wildcards.table].spec.files(),
    output:
        spec=LAYOUT.spec("{table}"),
        csv=report(
            LAYOUT.table("{table}", "csv"),
            caption="../report/table.rst",
            category=paper_of("table"),
            labels=label_of("table"),
        ),
        md=LAYOUT.table("{table}", "md"),
        tex=LAYOUT.table("{table}", "tex"),
        json=LAYOUT.table("{table}", "json"),
        notebook=LAYOUT.notebook("{table}"),
        page=LAYOUT.notebook("{table}", "html"),
    log:
        text=LAYOUT.log("render", "{table}"),
        notebook=LAYOUT.log("render", "{table}", "ipynb"),
    priority: 1
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(30),
    params:
        spec=lambda wildcards: spec_argument(wildcards.table),
        origin=lambda wildcards: origin_of(PLAN.outputs[wildcards.table].jobs),
    message:
        "{TITLES:{wildcards.table}}: written"
    shell:
        "rbmbench render {wildcards.table} --spec {params.spec:q} --template {input.template:q} --set spec={output.spec:q}"
        " csv={output.csv:q} md={output.md:q}"
        " tex={output.tex:q} json={output.json:q} --notebook {output.notebook:q} --page {output.page:q}"
        " --partial {log.notebook:q} --log {log.text:q}"
