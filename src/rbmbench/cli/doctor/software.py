"""The software: versions, threads, environment variables, and the programs that only parts of the workflow need."""

import os
import shutil
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec

from rbmbench.cli.doctor.findings import WARNING, Finding
from rbmbench.cli.doctor.limits import usable_cores
from rbmbench.io import provenance

__all__ = ["OWN_VARIABLES", "environment", "threads", "tools", "versions"]

SHOWN = ("python", "numpy", "scipy", "pandas", "numba", "snakemake")
CUPY = ("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x")
OWN_VARIABLES = (
    "RBMBENCH_BACKEND",
    "RBMBENCH_CHECKPOINT_SECONDS",
    "RBMBENCH_DATA_CACHE",
    "RBMBENCH_DATA_MIRROR",
    "RBMBENCH_FUSED",
)
OTHER_VARIABLES = (
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUPY_CACHE_DIR",
    "MKL_NUM_THREADS",
    "NUMBA_CACHE_DIR",
    "NUMBA_CPU_FEATURES",
    "NUMBA_CPU_NAME",
    "NUMBA_DISABLE_JIT",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
)
NOTEBOOKS = ("papermill", "nbconvert", "ipykernel")


def versions() -> Iterator[Finding]:
    """Yield the versions of this package, with its commit, and of what it stands on."""
    found = provenance.versions()
    commit = provenance.commit()
    own = found.get("rbmbench", "not installed: run from its source")
    yield Finding("rbmbench", own + (f", commit {commit}" if commit else ""), values={"commit": commit})
    for package in SHOWN:
        yield Finding(package, found.get(package, "not installed"))
    yield Finding("cupy", next((f"{_version(name)} ({name})" for name in CUPY if _version(name)), "not installed"))


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def threads() -> Iterator[Finding]:
    """Yield the threads that each part takes, and warn where they are more than the cores."""
    import numpy  # noqa: F401, brings the matrix library whose threads are asked for
    from threadpoolctl import threadpool_info

    yield Finding("training, annealing", "as many as --threads says, by default 1; matrix products on the same")
    cores = usable_cores()
    for library in threadpool_info():
        if library["user_api"] == "blas":
            name = f"{library['internal_api']} {library['version']} ({library.get('architecture', 'unknown')})"
            yield _counted(f"matrix products: {name}", library["num_threads"], cores)
    if find_spec("numba"):
        import numba

        yield _counted("numba (kernels run on the thread that calls them)", numba.config.NUMBA_NUM_THREADS, cores)


def _counted(what: str, count: int, cores: float) -> Finding:
    """Return a number of threads, with a warning where there are fewer cores."""
    if count <= cores:
        return Finding(what, str(count), values={"threads": count})
    return Finding(what, f"{count}, more than the {cores:g} usable cores", WARNING, {"threads": count})


def environment() -> Iterator[Finding]:
    """Yield the environment variables that are set and matter; warn of names like this package's that it has not."""
    from rbmbench.datasets import shown_place

    for name in sorted({*OWN_VARIABLES, *OTHER_VARIABLES} & set(os.environ)):
        yield Finding(name, shown_place(os.environ[name]))
    for name in sorted(name for name in os.environ if name.startswith("RBMBENCH_") and name not in OWN_VARIABLES):
        yield Finding(name, f"is not read by rbmbench; those are: {', '.join(OWN_VARIABLES)}", WARNING)
    unset = [name for name in (*OWN_VARIABLES, *OTHER_VARIABLES) if name not in os.environ]
    yield Finding("not set", ", ".join(unset))


def tools() -> Iterator[Finding]:
    """Yield what notebooks and clusters need; without it the library still works."""
    missing = [module for module in NOTEBOOKS if not find_spec(module)]
    if missing:
        lacking = f"cannot run: {', '.join(missing)} not installed; the extra workflow has it"
        yield Finding("notebooks", lacking, WARNING)
    else:
        # The reports start a kernel of the very Python that runs them, whatever kernels the user has.
        own = f"papermill {_version('papermill')}, its kernel ipykernel {_version('ipykernel')} of this Python"
        yield Finding("notebooks", own)
    sbatch = shutil.which("sbatch")
    plugin = "installed" if find_spec("snakemake_executor_plugin_slurm") else "not installed"
    yield Finding("SLURM", f"sbatch {sbatch or 'not found'}; snakemake-executor-plugin-slurm {plugin}")
