# What the runs of a scale took, side by side.


rule tabulate_run_times:
    input:
        runs=run_files(PLAN.runs),
    output:
        f"{RESULTS}/benchmarks/run_times.csv",
    log:
        f"{RESULTS}/logs/benchmarks/run_times.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=500,
        runtime=10,
    params:
        folders=[PLAN.run_folder(run) for run in PLAN.runs],
    shell:
        "rbmbench run-times --runs {params.folders} --out {output} 2>&1 | tee {log} >&2"
