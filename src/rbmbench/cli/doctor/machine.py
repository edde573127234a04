# SPDX-License-Identifier: BSD-3-Clause
"""Machine and software: versions, cores, memory, GPUs, environment variables, backend."""

import os
import subprocess
from collections.abc import Iterator

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.machine import usable_cores, usable_memory
from rbmbench.cli.doctor import FAILED, WARNING, Finding
from rbmbench.io import provenance
from rbmbench.kernels import backend_name, backends, is_installed, ways

OWN_VARIABLES = (
    "RBMBENCH_BACKEND",
    "RBMBENCH_CHECKPOINT_SECONDS",
    "RBMBENCH_DATA_CACHE",
    "RBMBENCH_DATA_MIRROR",
    "RBMBENCH_FUSED",
    "RBMBENCH_MESSAGES",
    "RBMBENCH_PLUGINS",
    "RBMBENCH_PRODUCTS",
)
NVIDIA_SMI = ("nvidia-smi", "--query-gpu=name,memory.total,driver_version,compute_cap", "--format=csv,noheader")
MODELS = {"tiny": (16, 16, 32, 25), "large": (784, 500, 500, 1)}  # visible and hidden units, batch, trials
NOTEBOOKS = ("papermill", "nbconvert", "IPython")


def versions() -> Iterator[Finding]:
    """Yield the versions of this package, with its commit, and of the packages it needs."""
    found, commit = provenance.versions(), provenance.commit()
    own = found.pop("rbmbench", "not installed: run from its source")
    yield Finding("rbmbench", own + (f", commit {commit}" if commit else ""))
    for package, version in found.items():
        yield Finding(package, version)
    if missing := [module for module in NOTEBOOKS if not is_installed(module)]:
        lacking = f"cannot run: {', '.join(missing)} not installed; the extra workflow has it"
        yield Finding("notebooks", lacking, WARNING)


def hardware() -> Iterator[Finding]:
    """Yield platform, processor, cores (that this process may use, and all) and memory."""
    import psutil

    found, usable, total = provenance.hardware(), usable_cores(), usable_memory()
    available = min(psutil.virtual_memory().available, total)
    yield Finding("system", found["platform"])
    yield Finding("processor", found["cpu"])
    yield Finding("cores", f"{usable} usable of {os.cpu_count()}", values={"usable": usable})
    sizes = {"total_bytes": total, "available_bytes": available}
    yield Finding("memory", f"{_gigabytes(available)} free of {_gigabytes(total)}", values=sizes)


def gpus() -> Iterator[Finding]:
    """Yield every GPU that CuPy can use with the CUDA versions, or the reason why there is none."""
    missing = backends.what_a_gpu_lacks()
    if missing is None:
        runtime = backends.namespace("cupy").cuda.runtime
        for number in range(runtime.getDeviceCount()):
            found = runtime.getDeviceProperties(number)
            capability = f"compute capability {found['major']}.{found['minor']}"
            words = f"{found['name'].decode()}, {_gigabytes(found['totalGlobalMem'])}, {capability}"
            yield Finding(f"GPU {number}", words)
        # CUDA encodes version 12.9 as 12090.
        versions = (runtime.driverGetVersion(), runtime.runtimeGetVersion())
        driver, own = (f"{number // 1000}.{number % 1000 // 10}" for number in versions)
        yield Finding("CUDA", f"{driver} of the driver, {own} of CuPy")
    elif seen := _seen_by_driver():
        advice = "install CuPy by the extra cuda12 or cuda13" if "not installed" in missing else "it is not used"
        yield Finding("GPU", f"{seen}, but {missing}: {advice}", WARNING)
    else:
        yield Finding("GPU", f"none: {missing}")


def _seen_by_driver() -> str:
    """Return the GPUs that nvidia-smi lists, "" if it is missing or fails."""
    try:
        done = subprocess.run(NVIDIA_SMI, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return "; ".join(line.strip() for line in done.stdout.splitlines() if line.strip())


def environment() -> Iterator[Finding]:
    """Yield the variables of this package; unknown names with its prefix are a warning."""
    from rbmbench.datasets import without_credentials

    for name in sorted(name for name in os.environ if name.startswith("RBMBENCH_")):
        if name in OWN_VARIABLES:
            yield Finding(name, without_credentials(os.environ[name]))
        else:
            yield Finding(name, f"is not read by rbmbench; those are: {', '.join(OWN_VARIABLES)}", WARNING)
    yield Finding("not set", ", ".join(name for name in OWN_VARIABLES if name not in os.environ))


def backend() -> Iterator[Finding]:
    """Yield what ``auto`` chooses for a tiny and a large model, and whether what the environment asks for works."""
    from rbmbench.training import fused
    from rbmbench.training.timing import step_settings

    host_kernels = backend_name(np.empty(0))
    for kind, (visible, hidden, batch, trials) in MODELS.items():
        chosen = backends.choose("auto", backends.work(step_settings(hidden, batch, trials=trials), visible))
        name = chosen.arrays.__name__
        kernels = host_kernels if name == "numpy" else name
        what = f"auto, {kind} model ({visible}x{hidden}, {trials} trial{'s' * (trials > 1)})"
        yield Finding(what, f"{name} arrays, {kernels} kernels ({chosen.reason})")
    if host_kernels == "numpy":
        yield Finding("kernels of NumPy arrays", "the slow reference kernels: Numba cannot be imported", WARNING)
    try:
        if asked := os.environ.get("RBMBENCH_BACKEND"):
            yield Finding("RBMBENCH_BACKEND", backends.choose(asked, 0.0).arrays.__name__)
        fused.check_switch()
        ways.check_switch()
    except SettingsError as error:
        yield Finding("environment", str(error), FAILED)


def _gigabytes(count: int) -> str:
    return f"{count / 2**30:.1f} GB"
