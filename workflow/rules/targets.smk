# The names people ask for: all of a sort, of a paper, or one figure or table. `all` is in the Snakefile.


rule all_figures:
    input:
        [file for key in PLAN.figures for file in figure_files(key)],


rule all_tables:
    input:
        [file for key in PLAN.tables for file in table_files(key)],


rule claims:
    input:
        f"{RESULTS}/claims.csv",
        notebook_files("claims"),


rule report:
    input:
        f"{RESULTS}/report/index.html",


# The speed of steps is measured only when it is asked for, here: it takes minutes of a machine that does nothing else.
rule benchmarks:
    input:
        f"{RESULTS}/benchmarks/run_times.csv",
        [f"{RESULTS}/benchmarks/steps.{suffix}" for suffix in ("csv", "md", "meta.json", "pdf", "png")],
        notebook_files("benchmarks"),


for paper in PLAN.papers:

    rule:
        name:
            f"paper_{paper}"
        input:
            [file for key in PLAN.of_paper(paper) for file in files_of(key)],


for key in [*PLAN.figures, *PLAN.tables]:

    rule:
        name:
            key
        input:
            files_of(key),
