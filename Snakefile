# rbmbench: figures, tables and verdicts of papers on restricted Boltzmann machines.
#
#   snakemake -c2 all_figures                                        the paper scale
#   snakemake -c2 popcd_table1 --configfile config/desktop.yaml      one table, in less time
#   snakemake -c2 all --configfile config/smoke.yaml                 everything small, in minutes
#
# What is computed is decided in src/rbmbench/planning/plan.py from config/; the rules only say how.


from snakemake.utils import min_version

min_version("9.27")


# --- Configuration: read, merged with its overlays, and checked before anything starts -----------------------------


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"


# --- What is told: one line per job; --logger-rbmbench-all-messages brings Snakemake's own messages back ------------


onstart:
    LOGGED.begin()
    if workflow.local_exec and LOGGED.jobs_to_run() >= FEWEST_JOBS_OF_WARM_PROCESS:
        WARM.start()


onsuccess:
    WARM.stop()
    LOGGED.end()


onerror:
    WARM.stop()
    LOGGED.stop(log)


# --- What is made when nothing is asked for --------------------------------------------------------------------------


rule all:
    input:
        [file for key in PLAN.outputs for file in files_of(key)],
        LAYOUT.claims,
        LAYOUT.report,
        LAYOUT.benchmark("run_times.csv"),


# --- The stages ------------------------------------------------------------------------------------------------------


include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/gradients.smk"
include: "workflow/rules/couplings.smk"
include: "workflow/rules/samples.smk"
include: "workflow/rules/certificates.smk"
include: "workflow/rules/render.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/benchmarks.smk"
include: "workflow/rules/forecast.smk"
include: "workflow/rules/targets.smk"
