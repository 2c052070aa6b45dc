"""The machine's cores, memory and processor: for manifests, thread counts and memory checks."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "scipy")
CGROUP = Path("/sys/fs/cgroup")
THREAD_LIMITS = "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"


def count_cores() -> int:
    """Cores that this process may use: by its affinity and its container's quota."""
    from joblib import cpu_count

    return int(cpu_count())


def share_cores(n_processes: int) -> int:
    """BLAS threads for each of some processes; fewer if the environment has fewer for any."""
    most = max(1, count_cores() // n_processes)
    limits = [os.environ.get(name, "").partition(",")[0].strip() for name in THREAD_LIMITS]
    return min([most, *(int(limit) for limit in limits if limit.isdecimal() and int(limit))])


def available_memory() -> int | None:
    """Bytes of memory that are free to use, None where the system does not say.

    What the system has free, or less if its container's limit leaves less.
    """
    free = []
    if found := _read_field("/proc/meminfo", "MemAvailable"):
        free.append(int(found.split()[0]) * 1024)
    else:
        with suppress(AttributeError, ValueError, OSError):
            free.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):  # ValueError: "max", no limit
        limit, used = (int((CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        cached = _read_field(CGROUP / "memory.stat", "inactive_file", separator=" ")
        free.append(max(0, limit - used + int(cached or 0)))
    return min(free, default=None)


def held_memory() -> int:
    """Bytes of memory that this process has already; 0 where the system does not say."""
    return int((_read_field("/proc/self/status", "VmRSS") or "0").split()[0]) * 1024


def measure_peak_bytes() -> int:
    """The most memory that this process has held.

    Not ru_maxrss where the system tells more: Linux lets a new process inherit its parent's.
    """
    if peak := _read_field("/proc/self/status", "VmHWM"):
        return int(peak.split()[0]) * 1024
    import resource

    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def count_blas_threads() -> int:
    """Threads that BLAS uses just now, by its environment and threadpoolctl's limits."""
    from threadpoolctl import threadpool_info

    pools = (pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
    return max(pools, default=1)


def describe_machine() -> dict[str, Any]:
    """Processor, memory, BLAS and versions: what a timing or a rounding may depend on."""
    from importlib.metadata import version

    import scipy.linalg  # noqa: F401  (threadpoolctl sees only what is loaded)
    from threadpoolctl import threadpool_info

    memory = None
    with suppress(AttributeError, ValueError, OSError):
        memory = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1)
    return {
        "cpu": _read_field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": count_cores(),
        "memory_gb": memory,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
        "blas": sorted(
            f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', 'unknown')})"
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        ),
    }


def _read_field(path: str | Path, name: str, separator: str = ":") -> str:
    """The value of the first `name: value` in a file of the system; empty if there is none."""
    with suppress(OSError):
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(separator)
            if key.strip() == name:
                return value.strip()
    return ""
