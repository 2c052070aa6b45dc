"""What this machine is and has: for manifests, thread counts and memory checks."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "scipy")


def count_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_blas_threads() -> int:
    """Threads that BLAS uses just now, by its environment and threadpoolctl's limits."""
    from threadpoolctl import threadpool_info

    pools = (pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
    return max(pools, default=1)


def describe_machine() -> dict[str, Any]:
    """Processor, memory, BLAS and versions: what a timing or a rounding may depend on."""
    import scipy.linalg  # noqa: F401  (threadpoolctl sees only what is loaded)
    from threadpoolctl import threadpool_info

    return {
        "cpu": _cpu_name(),
        "cores": count_cores(),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
        "blas": sorted(
            f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', 'unknown')})"
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        ),
    }


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
