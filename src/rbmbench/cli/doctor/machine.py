"""Machine and software: versions, cores, memory, GPUs, threads, environment variables, backend, other programs."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.cli.doctor.report import FACT, FAILED, WARNING, Finding
from rbmbench.io import provenance
from rbmbench.kernels import backend_name, backends

PACKAGES = ("python", "numpy", "scipy", "pandas", "numba", "snakemake")
CUPY = ("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x")
OWN_VARIABLES = (
    "RBMBENCH_BACKEND",
    "RBMBENCH_CHECKPOINT_SECONDS",
    "RBMBENCH_DATA_CACHE",
    "RBMBENCH_DATA_MIRROR",
    "RBMBENCH_FUSED",
)
PREFIXES = ("RBMBENCH_", "CUDA_", "CUPY_", "MKL_", "NUMBA_", "OMP_", "OPENBLAS_")
NVIDIA_SMI = ("nvidia-smi", "--query-gpu=name,memory.total,driver_version,compute_cap", "--format=csv,noheader")
CONTROL_GROUPS, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
UNLIMITED_BYTES = 2**60  # version 1 writes a huge number for no limit
MODELS = {"tiny": (16, 16, 32, 25), "large": (784, 500, 500, 1)}  # visible and hidden units, batch, trials
NOTEBOOKS = ("papermill", "nbconvert", "ipykernel")


def versions() -> Iterator[Finding]:
    """Yield the versions of this package, with its commit, and of the packages it needs."""
    found, commit = provenance.versions(), provenance.commit()
    own = found.get("rbmbench", "not installed: run from its source")
    yield Finding("rbmbench", own + (f", commit {commit}" if commit else ""), values={"commit": commit})
    for package in PACKAGES:
        yield Finding(package, found.get(package, "not installed"))
    yield Finding("cupy", next((f"{_version(name)} ({name})" for name in CUPY if _version(name)), "not installed"))


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def hardware() -> Iterator[Finding]:
    """Yield platform, processor, cores and memory, with the limits of affinity and control groups."""
    import psutil

    found, limits, usable, memory = (
        provenance.hardware(),
        control_group_limits(),
        usable_cores(),
        psutil.virtual_memory(),
    )
    yield Finding("system", found["platform"])
    yield Finding("processor", found["cpu"])
    cores = {"usable": usable, "logical": found["cores"], "quota": limits.cores}
    yield Finding("cores", f"{usable:g} usable of {found['cores']}", values=cores)
    sizes = {"total_bytes": memory.total, "available_bytes": memory.available, "limit_bytes": limits.memory_bytes}
    limited = f", limited to {_gigabytes(limits.memory_bytes)}" if limits.memory_bytes else ""
    yield Finding("memory", f"{_gigabytes(memory.available)} free of {_gigabytes(memory.total)}{limited}", values=sizes)


class Limits(NamedTuple):
    """Cores (may be a fraction) and bytes of memory that control groups leave; None without a limit."""

    cores: float | None
    memory_bytes: int | None


def control_group_limits(root: Path = CONTROL_GROUPS, membership: Path = MEMBERSHIP) -> Limits:
    """Return the tightest limits of this process's control groups and of those above them.

    Source: Linux kernel documentation, admin-guide: cgroup-v2 (cpu.max, memory.max), cgroup-v1 (cpu.cfs_quota_us,
    cpu.cfs_period_us, memory.limit_in_bytes).
    """
    cores, memory = [], []
    for line in _words(membership):
        controllers, _, group = line.partition(":")[2].partition(":")
        parts = [part for part in group.split("/") if part not in ("", "..")]
        for top in (controllers, *controllers.split(",")):  # none in version 2
            for depth in range(len(parts) + 1):
                folder = (root / top).joinpath(*parts[:depth])
                quota = _words(folder / "cpu.max")
                quota = quota or _words(folder / "cpu.cfs_quota_us") + _words(folder / "cpu.cfs_period_us")
                if len(quota) == 2 and quota[0].isdigit():  # else max, or -1
                    cores.append(int(quota[0]) / int(quota[1]))
                limits = _words(folder / "memory.max") + _words(folder / "memory.limit_in_bytes")
                memory += [int(limit) for limit in limits if limit.isdigit() and int(limit) < UNLIMITED_BYTES]
    return Limits(min(cores, default=None), min(memory, default=None))


def _words(file: Path) -> list[str]:
    """Return the words of a file, none if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8").split()
    except OSError:
        return []


def cores_by_affinity() -> int:
    """Return the number of cores that this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # systems without affinity
        return os.cpu_count() or 1


def usable_cores() -> float:
    """Return the number of cores that affinity and control groups leave to this process; may be a fraction."""
    return min(cores_by_affinity(), control_group_limits().cores or float("inf"))


def gpus() -> Iterator[Finding]:
    """Yield every GPU that CuPy can use, or the reason why there is none."""
    missing = backends.what_a_gpu_lacks()
    if missing is None:
        yield from _devices()
    elif seen := _seen_by_driver():
        advice = "install CuPy by the extra cuda12 or cuda13" if "not installed" in missing else "it is not used"
        yield Finding("GPU", f"{seen}, but {missing}: {advice}", WARNING)
    else:
        yield Finding("GPU", f"none: {missing}")


def _devices() -> Iterator[Finding]:
    """Yield the devices of CuPy, and the CUDA versions of driver and runtime."""
    runtime = backends.namespace("cupy").cuda.runtime
    for number in range(runtime.getDeviceCount()):
        found = runtime.getDeviceProperties(number)
        name, memory, capability = found["name"], found["totalGlobalMem"], f"{found['major']}.{found['minor']}"
        name = name.decode() if isinstance(name, bytes) else name
        values = {"name": name, "memory_bytes": memory, "compute_capability": capability}
        yield Finding(f"GPU {number}", f"{name}, {_gigabytes(memory)}, compute capability {capability}", FACT, values)
    # CUDA encodes version 12.9 as 12090.
    versions = (runtime.driverGetVersion(), runtime.runtimeGetVersion())
    driver, own = (f"{number // 1000}.{number % 1000 // 10}" for number in versions)
    yield Finding("CUDA", f"{driver} of the driver, {own} of CuPy", FACT, {"driver": driver, "runtime": own})


def _seen_by_driver() -> str:
    """Return the GPUs that nvidia-smi lists, "" if it is missing or fails."""
    try:
        done = subprocess.run(NVIDIA_SMI, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return "; ".join(line.strip() for line in done.stdout.splitlines() if line.strip())


def threads() -> Iterator[Finding]:
    """Yield the number of threads of the matrix library and of Numba; more than the usable cores are a warning."""
    from threadpoolctl import threadpool_info

    counts = {
        f"matrix products: {library['internal_api']} {library['version']}": library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }
    if find_spec("numba"):
        import numba

        counts["numba (kernels run on the calling thread)"] = numba.config.NUMBA_NUM_THREADS
    cores = usable_cores()
    for what, count in counts.items():
        words = str(count) if count <= cores else f"{count}, more than the {cores:g} usable cores"
        yield Finding(what, words, FACT if count <= cores else WARNING, {"threads": count})


def environment() -> Iterator[Finding]:
    """Yield the environment variables that matter here; unknown names with the prefix of this package are a warning."""
    from rbmbench.datasets import without_credentials

    for name in sorted(name for name in os.environ if name.startswith(PREFIXES)):
        if name.startswith("RBMBENCH_") and name not in OWN_VARIABLES:
            yield Finding(name, f"is not read by rbmbench; those are: {', '.join(OWN_VARIABLES)}", WARNING)
        else:
            yield Finding(name, without_credentials(os.environ[name]))
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
        values = {"arrays": name, "kernels": kernels, "reason": chosen.reason}
        yield Finding(what, f"{name} arrays, {kernels} kernels ({chosen.reason})", values=values)
    if host_kernels == "numpy":
        yield Finding("kernels of NumPy arrays", "the slow reference kernels: Numba cannot be imported", WARNING)
    try:
        if asked := os.environ.get("RBMBENCH_BACKEND"):
            yield Finding("RBMBENCH_BACKEND", backends.choose(asked, 0.0).arrays.__name__)
        fused.check_switch()
    except SettingsError as error:
        yield Finding("environment", str(error), FAILED)


def programs() -> Iterator[Finding]:
    """Yield what notebooks and clusters need; the library works without it."""
    missing = [module for module in NOTEBOOKS if not find_spec(module)]
    if missing:
        lacking = f"cannot run: {', '.join(missing)} not installed; the extra workflow has it"
        yield Finding("notebooks", lacking, WARNING)
    else:
        yield Finding("notebooks", f"papermill {_version('papermill')}, ipykernel {_version('ipykernel')}")
    plugin = "installed" if find_spec("snakemake_executor_plugin_slurm") else "not installed"
    sbatch = shutil.which("sbatch") or "not found"
    yield Finding("SLURM", f"sbatch {sbatch}; snakemake-executor-plugin-slurm {plugin}")


def _gigabytes(count: int) -> str:
    return f"{count / 2**30:.1f} GB"
