# SPDX-License-Identifier: BSD-3-Clause
# Data sets, made or fetched once a scale.


rule prepare_data:
    input:
        lambda wildcards: own_files(wildcards.data),
    output:
        LAYOUT.data_set("{data}"),
    log:
        LAYOUT.log("data", "{data}"),
    priority: 1
    resources:
        mem_mb=more_each_attempt(2000),
        runtime=more_each_attempt(30),
    params:
        name=lambda wildcards: PLAN.data[wildcards.data].name,
        options=lambda wildcards: json.dumps(PLAN.data[wildcards.data].options, sort_keys=True),
        rows=lambda wildcards: PLAN.data[wildcards.data].rows,
        visible=lambda wildcards: PLAN.data[wildcards.data].visible,
        code=lambda wildcards: recipe_of(wildcards.data),
        content=lambda wildcards: own_content(wildcards.data),
    message:
        "data set {TITLES:{wildcards.data}}"
    shell:
        "rbmbench data --name {params.name:q} --options {params.options:q} --rows {params.rows:q}"
        " --visible {params.visible:q} --out {output:q} --log {log:q}"
