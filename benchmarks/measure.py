"""Measure the speed of training against floors and peers, all in one run on one thread, and write the ratios.

    python benchmarks/measure.py --out results/benchmarks

Floors are the matrix products that a step cannot do without; peers are other programs for the same step. Every pair is
timed in turns and the best of each is kept, so that what else the machine does harms both alike.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_variable] = "1"  # read when NumPy and Numba are imported, so before them

import argparse  # noqa: E402
import json  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from time import perf_counter  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

from rbmbench import datasets, likelihood, provenance  # noqa: E402
from rbmbench.files import replaced  # noqa: E402
from rbmbench.kernels import numpy_home  # noqa: E402
from rbmbench.model import initial_rbm  # noqa: E402
from rbmbench.settings import RunSettings, parse  # noqa: E402
from rbmbench.streams import Purpose, Stream  # noqa: E402
from rbmbench.training import make_shards, train  # noqa: E402

HERE = Path(__file__).resolve()
STEPS = 3  # iterations a call: a run's shards make many before they halt


def best_seconds(*functions: Callable[[], object], rounds: int = 15) -> list[float]:
    """Return the least time of each function over rounds in which they take turns, after one call to warm up."""
    for function in functions:
        function()
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            started = perf_counter()
            function()
            best[i] = min(best[i], (perf_counter() - started) / getattr(function, "steps", 1))
    return best


def made_data(rows: int, visible: int) -> np.ndarray:
    """Return 0/1 rows with the density of binarised handwritten digits (0.13): speed does not depend on more."""
    return (np.random.default_rng(0).random((rows, visible)) < 0.13).astype(np.uint8)


def training_step(visible, hidden, batch, estimator, options, trials=1, rows=10_000) -> Callable[[], object]:
    """Return a function that makes training iterations of ``trials`` RBMs as a run does, evaluation apart."""
    stage = {"until": 10**9, "estimator": {"name": estimator, "options": options}, "rate": 0.01}
    values = {"data": {"name": "made"}, "hidden": hidden, "batch": batch, "schedule": [stage], "trials": trials}
    settings = parse(RunSettings, values, "benchmark")
    data = made_data(rows, visible)
    rbm = initial_rbm(visible, hidden, Stream(0, range(trials), Purpose.INITIAL_PARAMETERS))
    shards = make_shards(rbm, data, settings, threads=1)
    for shard in shards:
        shard.enter(settings.schedule[0], start=True)
    iteration = iter(range(10**9))

    def step():
        at = next(iteration)
        for shard in shards:
            shard.advance(at * STEPS, (at + 1) * STEPS)

    step.steps = STEPS
    return step


def matrix_products(visible, hidden, batch, k) -> Callable[[], object]:
    """Return the matrix products of one CD-k step: 2 k + 1 for the chain and the means, 2 for the statistics."""
    rng = np.random.default_rng(1)
    v = (rng.random((batch, visible)) < 0.13).astype(np.float32)
    h = (rng.random((batch, hidden)) < 0.5).astype(np.float32)
    W = rng.normal(0, 0.1, (visible, hidden)).astype(np.float32)
    v_W, h_W = np.empty_like(h), np.empty_like(v)
    statistics = np.empty_like(W)

    def products():
        for _ in range(k):
            np.matmul(v, W, out=v_W)
            np.matmul(h, W.T, out=h_W)
        np.matmul(v, W, out=v_W)
        np.matmul(v.T, h, out=statistics)
        np.matmul(v.T, h, out=statistics)

    return products


def scikit_learn_step(visible, hidden, batch) -> Callable[[], object]:
    """Return one update of scikit-learn's BernoulliRBM (PCD-1)."""
    from sklearn.neural_network import BernoulliRBM

    model = BernoulliRBM(n_components=hidden, batch_size=batch, learning_rate=0.01, random_state=0)
    rows = made_data(batch, visible).astype(np.float32)
    return lambda: model.partial_fit(rows)


def child_seconds(job: dict, without_numba: bool = False) -> dict[str, float]:
    """Run a job of this script in a process of its own and return what it measured."""
    command = [sys.executable, str(HERE), "--job", json.dumps(job)]
    if without_numba:
        command.append("--without-numba")
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def run_job(job: dict) -> dict[str, float]:
    """Time training steps of one kind; part of a child process."""
    if "whole_run_of" in job:
        return whole_run(job["whole_run_of"])
    rounds = job.pop("rounds")
    return {"seconds": best_seconds(training_step(**job), rounds=rounds)[0]}


def whole_run(trials: int) -> dict[str, float]:
    """Train as a process of its own does, and return its time with and without start-up, both without evaluation."""
    bars = datasets.load("bars_and_stripes").train
    done = train(bars, hidden=16, batch=32, iterations=20_000, trials=trials, evaluate_every=20_000)
    total = provenance.seconds_since_start() - done.timings["evaluation_seconds"]
    return {"seconds": total, "training_seconds": done.timings["training_seconds"]}


def large_steps() -> list[dict]:
    """Compare 784 x 500 training steps with their matrix products, with pop-CD and with scikit-learn."""
    rows = []
    for k in (1, 10):
        cd = training_step(784, 500, 500, "cd", {"k": k})
        pop_cd = training_step(784, 500, 500, "pop_cd", {"k": k})
        floor = matrix_products(784, 500, 500, k)
        ours, weighted, products = best_seconds(cd, pop_cd, floor, rounds=120 // k + 10)
        rows.append(row(f"CD-{k} step, 784x500, batch 500", ours, "its matrix products", products, "<= 1.10"))
        rows.append(row(f"pop-CD-{k} step, 784x500, batch 500", weighted, f"CD-{k} step", ours, "<= 1.05"))
    pcd = training_step(784, 500, 500, "pcd", {"k": 1})
    ours, theirs = best_seconds(pcd, scikit_learn_step(784, 500, 500), rounds=20)
    rows.append(row("PCD-1 step, 784x500, batch 500", ours, "scikit-learn BernoulliRBM", theirs, "< 1"))
    return rows


def small_steps() -> list[dict]:
    """Compare steps of many trials with the NumPy reference home, with one trial, and with pop-CD."""
    rows = []
    for k in (1, 10):
        cd = training_step(784, 16, 500, "cd", {"k": k}, trials=5)
        pop_cd = training_step(784, 16, 500, "pop_cd", {"k": k}, trials=5)
        ours, weighted = best_seconds(cd, pop_cd, rounds=60 // k + 5)
        rows.append(row(f"pop-CD-{k} step, 784x16, batch 500, 5 trials", weighted, f"CD-{k} step", ours, "<= 1.15"))
    mnist = {"visible": 784, "hidden": 16, "batch": 500, "estimator": "cd", "options": {"k": 1}, "trials": 25}
    bars = {"visible": 16, "hidden": 16, "batch": 32, "estimator": "cd", "options": {"k": 1}, "trials": 25, "rows": 32}
    for name, job, rounds in (("784x16, batch 500", mnist, 10), ("16x16, batch 32", bars, 500)):
        ours = child_seconds(job | {"rounds": rounds})["seconds"]
        reference = child_seconds(job | {"rounds": max(3, rounds // 10)}, without_numba=True)["seconds"]
        rows.append(row(f"CD-1 step of 25 trials, {name}", ours, "NumPy reference home", reference, "<= 0.33"))
    together, alone = (child_seconds({"whole_run_of": trials}) for trials in (25, 1))
    for kind, name in (("seconds", "start-up and training"), ("training_seconds", "training alone")):
        what = f"CD-1 run of 25 trials, 16x16, 20 000 iterations, {name}"
        rows.append(row(what, together[kind], "25 runs of one trial each", 25 * alone[kind], "<= 0.10"))
    return rows


def enumeration() -> list[dict]:
    """Compare the exact log Z of a 784 x 16 model with the straightforward sum."""
    rbm = initial_rbm(784, 16, Stream(0, [0]), kind="normal", width=0.3)
    W, b, c = (p[0].astype(np.float64) for p in (rbm.W, rbm.b, rbm.c))
    ours, plain = best_seconds(
        lambda: likelihood.exact_log_partition(rbm), lambda: numpy_home.hidden_log_weights(W, b, c), rounds=5
    )
    return [row("Exact log Z, 784x16", ours, "straightforward NumPy sum", plain, "<= 0.02")]


def start_up() -> list[dict]:
    """Time what a user waits for: --help, and import to first iteration with the compiled kernels cached."""
    help_command = [sys.executable, "-m", "rbmbench", "--help"]
    code = (
        "import numpy as np, rbmbench; rbmbench.train(np.eye(16, dtype=np.uint8), hidden=16, batch=16, iterations=1,"
        " trials=25)"
    )
    bare, shown, first = best_seconds(
        lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
        lambda: subprocess.run(help_command, check=True, stdout=subprocess.DEVNULL),
        lambda: subprocess.run([sys.executable, "-c", code], check=True),
        rounds=5,
    )
    return [
        row("rbmbench --help", shown, "python -c pass", bare, "< 0.3 s"),
        row("import to first iteration, 25 trials 16x16", first, "python -c pass", bare, "< 2 s"),
    ]


def row(what: str, seconds: float, against: str, reference: float, aim: str) -> dict:
    """Return one line of the table."""
    return {
        "what": what,
        "milliseconds": 1000 * seconds,
        "against": against,
        "reference_milliseconds": 1000 * reference,
        "ratio": seconds / reference,
        "aim": aim,
    }


def write(table: pd.DataFrame, folder: Path) -> None:
    """Write the table as csv and, with the machine's name, as Markdown."""
    machine = provenance.hardware()
    shown = table.round({"milliseconds": 3, "reference_milliseconds": 3, "ratio": 3})
    text = shown.to_markdown(index=False, disable_numparse=True)
    note = f"One thread of {machine['cpu']}, {machine['cores']} cores; float32; best of several turns."
    with replaced(folder / "steps.csv") as temporary:
        table.to_csv(temporary, index=False)
    with replaced(folder / "steps.md") as temporary:
        temporary.write_text(f"{text}\n\n{note}\n", encoding="utf-8")
    print(text, note, sep="\n\n")


def main() -> None:
    """Measure everything, or one job as a child process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"), metavar="FOLDER")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--without-numba", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.without_numba:
        sys.modules["numba"] = None
    if arguments.job:
        print(json.dumps(run_job(json.loads(arguments.job))))
        return
    groups = (large_steps, small_steps, enumeration, start_up)
    write(pd.DataFrame([line for group in groups for line in group()]), arguments.out)


if __name__ == "__main__":
    main()
