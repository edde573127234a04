# SPDX-License-Identifier: BSD-3-Clause
"""Measure the speed of training against floors and peers on one thread, and write the ratios.

    python benchmarks/measure.py --out results/benchmarks

Floors are the dense matrix products of a step; peers are other programs for the same step. Functions to be compared are
timed in alternation, and the shortest time of each is taken, so that other load affects all alike.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_variable] = "1"  # before NumPy and Numba are imported

import argparse  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402
from time import perf_counter, process_time  # noqa: E402

EVERY_ROUND = 10**6


def write(lines: list[dict], folder: Path) -> None:
    """Write the lines as csv, the machine and software as JSON, and both as Markdown."""
    import pandas as pd

    import gpu
    import peers
    from rbmbench.io import provenance
    from rbmbench.io.atomic import replaced, write_json
    from rbmbench.reporting import speed

    left_out = [f"Not installed: {peer}" for peer in peers.missing()] + [gpu.obstacle()]
    meta = provenance.collect() | {
        "threads": 1,
        "precision": "float32",
        "left_out": [reason for reason in left_out if reason],
    }
    meta["versions"] |= peers.versions()
    table = pd.DataFrame(lines)
    with replaced(folder / "steps.csv") as temporary:
        table.to_csv(temporary, index=False)
    write_json(folder / "steps.meta.json", meta)
    with replaced(folder / "steps.md") as temporary:
        temporary.write_text(speed.markdown(table, meta), encoding="utf-8")
    print(speed.markdown(table, meta))


def groups() -> dict:
    """Return the measuring functions by their names in `--only`."""
    import coupled
    import gpu
    import likelihoods
    import processes
    import rules
    import sampling
    import steps

    return {
        "large_steps": steps.large_steps,
        "small_steps": steps.small_steps,
        "threads_of_a_trial": steps.threads_of_a_trial,
        "ways_of_products": steps.ways_of_products,
        "update_rules": rules.update_rules,
        "coupled_gradients": coupled.coupled_gradients,
        "samples": sampling.samples,
        "tempered_sweeps": sampling.tempered_sweeps,
        "indirect_likelihoods": sampling.indirect_likelihoods,
        "compiled_kernels": processes.compiled_kernels,
        "whole_runs": processes.whole_runs,
        "enumeration": likelihoods.enumeration,
        "annealing": likelihoods.annealing,
        "rows": likelihoods.rows,
        "gpu_steps": gpu.gpu_steps,
        "start_up": processes.start_up,
    }


def main() -> None:
    """Measure everything, or one job as a child process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"), metavar="FOLDER")
    parser.add_argument("--only", nargs="+", metavar="GROUP", help="measure these groups only")
    parser.add_argument("--rounds", type=int, default=EVERY_ROUND, metavar="N", help="at most N rounds each")
    parser.add_argument("--processor-time", action="store_true", help="for a machine with other load; not for a GPU")
    parser.add_argument("--log", type=Path, metavar="FILE", help="file that gets a copy of all messages")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--without-numba", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.without_numba:
        sys.modules["numba"] = None
    if arguments.job:
        from processes import run_job

        print(json.dumps(run_job(json.loads(arguments.job))))
        return
    functions = groups()
    unknown = [name for name in arguments.only or () if name not in functions]
    if unknown:
        parser.error(f"unknown group {unknown[0]!r}; allowed: {', '.join(functions)}")
    from rbmbench.cli.output import Output
    from timing import Clock

    with Output() as output:
        output.log_to(arguments.log)
        clock = Clock(arguments.rounds, process_time if arguments.processor_time else perf_counter)
        write([row for name in arguments.only or functions for row in functions[name](clock)], arguments.out)


if __name__ == "__main__":
    main()
