"""The machine: processor, cores and memory this process may use, and what a graphics processor there is."""

import shutil
import subprocess
from collections.abc import Iterator

from rbmbench.cli.doctor.findings import FACT, WARNING, Finding
from rbmbench.cli.doctor.limits import control_group_limits, cores_by_affinity, usable_cores
from rbmbench.io import provenance
from rbmbench.kernels import backends

__all__ = ["graphics_processor", "machine"]

QUERY = "name,memory.total,driver_version,compute_cap"
SECONDS = 10


def machine() -> Iterator[Finding]:
    """Yield processor, cores, memory."""
    import psutil

    hardware, limits = provenance.hardware(), control_group_limits()
    yield Finding("system", hardware["platform"])
    yield Finding("processor", hardware["cpu"])
    usable, quota = usable_cores(), "no quota" if limits.cores is None else f"a quota of {limits.cores:g}"
    yield Finding(
        "cores",
        f"{usable:g} usable of {hardware['cores']} (affinity {cores_by_affinity()}, {quota})",
        values={"usable": usable, "logical": hardware["cores"], "quota": limits.cores},
    )
    memory = psutil.virtual_memory()
    limit = "" if limits.memory_bytes is None else f", limited to {_gigabytes(limits.memory_bytes)} by a control group"
    yield Finding(
        "memory",
        f"{_gigabytes(memory.available)} free of {_gigabytes(memory.total)}{limit}",
        values={"total_bytes": memory.total, "available_bytes": memory.available, "limit_bytes": limits.memory_bytes},
    )


def graphics_processor() -> Iterator[Finding]:
    """Yield every GPU that CuPy can use, or one line why there is none."""
    missing = backends.what_a_gpu_lacks()
    if missing is None:
        yield from _devices()
        return
    seen = _seen_by_driver()
    if seen:
        advice = "install CuPy by the extra cuda12 or cuda13" if "not installed" in missing else "it is not used"
        yield Finding("GPU", f"{seen}, but {missing}: {advice}", WARNING)
    else:
        yield Finding("GPU", f"none: {missing}")


def _devices() -> Iterator[Finding]:
    """Yield name, memory and compute capability of CuPy's devices, and the versions of driver and runtime."""
    runtime = backends.namespace("cupy").cuda.runtime
    for number in range(runtime.getDeviceCount()):
        found = runtime.getDeviceProperties(number)
        name, capability = found["name"], f"{found['major']}.{found['minor']}"
        name = name.decode() if isinstance(name, bytes) else name
        yield Finding(
            f"GPU {number}",
            f"{name}, {_gigabytes(found['totalGlobalMem'])}, compute capability {capability}",
            FACT,
            {"name": name, "memory_bytes": found["totalGlobalMem"], "compute_capability": capability},
        )
    driver, own = (_cuda_version(number) for number in (runtime.driverGetVersion(), runtime.runtimeGetVersion()))
    yield Finding("CUDA", f"{driver} of the driver, {own} of CuPy", FACT, {"driver": driver, "runtime": own})


def _seen_by_driver() -> str:
    """Return the GPUs that the driver's own program lists, "" where there is none."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, f"--query-gpu={QUERY}", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return "; ".join(line.strip() for line in done.stdout.splitlines() if line.strip())


def _cuda_version(number: int) -> str:
    """Return a version of CUDA, which counts thousands and tens, as it is written."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _gigabytes(count: int) -> str:
    return f"{count / 2**30:.1f} GB"
