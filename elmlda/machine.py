"""The machine's cores, memory and processor: for manifests, thread counts and memory checks."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import Any

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


def available_memory() -> int:
    """Bytes of memory that are free to use: the system's, or less if its container's limit is near."""
    import psutil

    free = int(psutil.virtual_memory().available)
    with suppress(OSError, ValueError):  # ValueError: "max", no limit
        limit, used = (int((CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        cached = _read_field(CGROUP / "memory.stat", "inactive_file", separator=" ")
        free = min(free, max(0, limit - used + int(cached or 0)))
    return free


def held_memory() -> int:
    """Bytes of memory that this process has already."""
    import psutil

    return int(psutil.Process().memory_info().rss)


def count_blas_threads() -> int:
    """Threads that BLAS uses just now, by its environment and threadpoolctl's limits."""
    return max((int(pool["num_threads"]) for pool in _find_blas()), default=1)


def describe_machine() -> dict[str, Any]:
    """Processor, memory, BLAS and versions: what a timing or a rounding may depend on."""
    from importlib.metadata import version

    import psutil
    import scipy.linalg  # noqa: F401  (threadpoolctl sees only what is loaded)

    return {
        "cpu": _read_field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": count_cores(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{library: version(library) for library in ("numpy", "scipy")},
        "blas": sorted(
            f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', 'unknown')})"
            for pool in _find_blas()
        ),
    }


def _find_blas() -> list[dict[str, Any]]:
    from threadpoolctl import threadpool_info

    return [pool for pool in threadpool_info() if pool["user_api"] == "blas"]


def _read_field(path: str | Path, name: str, separator: str = ":") -> str:
    """The value of the first `name: value` in a file of the system; empty if there is none."""
    with suppress(OSError):
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(separator)
            if key.strip() == name:
                return value.strip()
    return ""
