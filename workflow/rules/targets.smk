# SPDX-License-Identifier: BSD-3-Clause
# Targets: all of the papers, of one paper or study, or one figure or table. `all` is in the Snakefile.


rule claims:
    input:
        LAYOUT.claims,
        LAYOUT.verdicts,
        LAYOUT.notebooks("claims"),


rule report:
    input:
        LAYOUT.report,


# The speed of steps is measured only by this target: it takes minutes of a machine without other load.
rule benchmarks:
    input:
        [LAYOUT.benchmark(f"steps.{ending}") for ending in ("csv", "md", "meta.json", "pdf", "png")],
        LAYOUT.notebooks("benchmarks"),


for target, keys in PLAN.targets.items():
    if target != "all":

        rule:
            name:
                target
            input:
                [file for key in keys for file in files_of(key)],
