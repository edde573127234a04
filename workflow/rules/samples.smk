# Streams of samples of trained models, by all samplers of a panel, and their indirect sampling likelihoods.


rule sample_models:
    input:
        data=lambda wildcards: data_file(PLAN.samples[wildcards.samples].run),
        run=lambda wildcards: run_folder_files(PLAN.samples[wildcards.samples].run),
    output:
        isl=f"{RESULTS}/samples/{{samples}}/isl.parquet",
        shown=f"{RESULTS}/samples/{{samples}}/shown.npz",
        meta=f"{RESULTS}/samples/{{samples}}/meta.json",
    log:
        f"{RESULTS}/logs/samples/{{samples}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=more_each_attempt(3000),
        runtime=more_each_attempt(360),
    params:
        settings=lambda wildcards: PLAN.samples[wildcards.samples].settings.canonical(),
        run=lambda wildcards: PLAN.run_folder(PLAN.samples[wildcards.samples].run),
        folder=subpath(output.meta, parent=True),
        scale=PLAN.scale,
    shell:
        "rbmbench sample --settings {params.settings:q} --data {input.data} --model {params.run}"
        " --threads {threads} --scale {params.scale} --out {params.folder} 2>&1 | tee -i {log} >&2"
