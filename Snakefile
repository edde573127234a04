# SPDX-License-Identifier: BSD-3-Clause
# rbmbench: figures, tables and verdicts of papers on restricted Boltzmann machines.
#
#   snakemake -c2 all_figures                                        the paper scale
#   snakemake -c2 popcd_table1 --configfile config/desktop.yaml      one table, in less time
#   snakemake -c2 all --configfile config/smoke.yaml                 everything small, in minutes
#
# The workflow itself is workflow/Snakefile.


# As `include:` does; but what that file makes when nothing is asked for is made here, too.
workflow.include("workflow/Snakefile", overwrite_default_target=True)
