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


# Files of figures and of tables, by parameters of their notebooks; one of them is shown by `snakemake --report`. The
# rules have one wildcard, the key.
FIGURE_FILES = {ending: LAYOUT.figure("{figure}", ending) for ending in FIGURE_ENDINGS}
FIGURE_FILES |= {"csv": LAYOUT.numbers("{figure}")}
TABLE_FILES = {ending: LAYOUT.table("{table}", ending) for ending in TABLE_ENDINGS}


for noun, files, shown, done in (
    ("figure", FIGURE_FILES, "png", "drawn"),
    ("table", TABLE_FILES, "csv", "written"),
):
    key, parameters = f"{{{noun}}}", " ".join(f"{name}={{output.{name}:q}}" for name in files)
    files[shown] = report(files[shown], caption=f"../report/{noun}.rst", category=paper_of, labels=labels_of)

    rule:
        name:
            f"render_{noun}"
        input:
            specs=lambda wildcards: long_spec(wildcards[0]),
            template=lambda wildcards: template_of(wildcards[0]),
            results=lambda wildcards: PLAN.outputs[wildcards[0]].spec.files(),
        output:
            **files,
            spec=LAYOUT.spec(key),
            notebook=LAYOUT.notebook(key),
            page=LAYOUT.notebook(key, "html"),
        log:
            text=LAYOUT.log("render", key),
            notebook=LAYOUT.log("render", key, "ipynb"),
        priority: 1
        resources:
            mem_mb=more_each_attempt(2000),
            runtime=more_each_attempt(30),
        params:
            spec=lambda wildcards: spec_argument(wildcards[0]),
            origin=lambda wildcards: origin_of(PLAN.outputs[wildcards[0]].jobs),
        message:
            f"{{TITLES:{{wildcards.{noun}}}}}: {done}"
        shell:
            f"rbmbench render {{wildcards.{noun}}} --spec {{params.spec:q}} --template {{input.template:q}}"
            f" --set spec={{output.spec:q}} {parameters} --notebook {{output.notebook:q}} --page {{output.page:q}}"
            " --partial {log.notebook:q} --log {log.text:q}"
