# SPDX-License-Identifier: BSD-3-Clause
# The names people ask for: all of a sort, of a paper or a study, or one figure or table. `all` is in the Snakefile.


rule all_figures:
    input:
        [file for key in PLAN.figures for file in files_of(key)],


rule all_tables:
    input:
        [file for key in PLAN.tables for file in files_of(key)],


rule claims:
    input:
        LAYOUT.claims,
        LAYOUT.notebooks("claims"),


rule report:
    input:
        LAYOUT.report,


# The speed of steps is measured only when it is asked for, here: it takes minutes of a machine that does nothing else.
rule benchmarks:
    input:
        LAYOUT.benchmark("run_times.csv"),
        [LAYOUT.benchmark(f"steps.{ending}") for ending in ("csv", "md", "meta.json", "pdf", "png")],
        LAYOUT.notebooks("benchmarks"),


for paper in PLAN.papers:

    rule:
        name:
            f"paper_{paper}" if Path(CONFIG).with_name("papers").joinpath(f"{paper}.yaml").is_file() else paper
        input:
            [file for key in PLAN.of_paper(paper) for file in files_of(key)],


for key in PLAN.outputs:

    rule:
        name:
            key
        input:
            files_of(key),
