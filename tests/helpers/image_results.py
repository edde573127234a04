# SPDX-License-Identifier: BSD-3-Clause
"""Small runs with snapshots of their models, and the spec of a figure of them."""

from pathlib import Path

import numpy as np
from reporting_results import differences, make_run, rising

from rbmbench.io.results import write_arrays

SIDE, HIDDEN, IMAGES = 3, 7, 5
ITERATIONS = [0, 10, 300]


def images_figure(root: Path, algorithms=("cd_1", "pcd_1"), **more) -> dict:
    """Write runs with snapshots, and return the spec of their figure."""
    runs = []
    for number, algorithm in enumerate(algorithms):
        folder = make_run(root / "runs" / f"arena_fig5-{algorithm}", rising(-5.0), iterations=range(0, 410, 10), **more)
        random = np.random.default_rng(number)
        shapes = {"W": (SIDE**2, HIDDEN), "b": (SIDE**2,), "c": (HIDDEN,)}
        parts = {
            f"snapshot_{name}": random.normal(size=(len(ITERATIONS), 1, *shape)).astype(np.float32)
            for name, shape in shapes.items()
        }
        parts["snapshot_W"] *= np.array([0.01, 1, 3], np.float32)[:, None, None, None]
        write_arrays(f"{folder}/model.npz", parts | {"snapshot_iterations": np.array(ITERATIONS)})
        runs.append({"algorithm": algorithm, "label": algorithm.upper(), "folder": folder})
    panel = {"name": "a", "data": "toy", "hidden": HIDDEN, "rate": 0.1, "iterations": 300}
    panel |= {"trials": 1, "runs": runs}
    spec = {"key": "arena_fig5", "paper": "arena", "title": "Images", "kind": "learned_images", "scale": "tiny"}
    spec |= {"differences": differences(panel, {"iterations": 9000}, "a")}
    return spec | {"images": IMAGES, "seed": 3, "panels": [panel]}
