"""The machine's cores, memory and processor: for manifests, thread counts and memory checks."""

from __future__ import annotations

import math
import os
import platform
import resource
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from elmlda.errors import ElmldaError

LIBRARIES = ("numpy", "scipy")
CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
FILES_NEEDED = 32
"""Open files of a process and its workers, with some to spare: 20 are enough for two."""
LIBRARY_BYTES, THREAD_BYTES = 450 << 20, 85 << 20
"""Address space of the libraries, and of each BLAS thread in the two copies of OpenBLAS."""
THREAD_LIMITS = "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"


def count_cores(cgroups: Path = CGROUPS, own: Path = OWN_CGROUPS) -> int:
    """Cores that this process may use: by its affinity, and its control groups' quota, rounded up."""
    n_cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        n_cores = len(os.sched_getaffinity(0))
    for folder in _cgroup_folders("cpu", cgroups, own):
        with suppress(OSError, ValueError):
            quota, period = _cpu_share(folder)
            if quota > 0 and period > 0:
                n_cores = min(n_cores, math.ceil(quota / period))
    return n_cores


def share_cores(n_processes: int) -> int:
    """BLAS threads for each of so many processes; fewer if the environment has fewer for any."""
    most = max(1, count_cores() // n_processes)
    for name in THREAD_LIMITS:
        limit = os.environ.get(name, "").partition(",")[0].strip()
        if limit.isdecimal() and int(limit):
            return min(most, int(limit))
    return most


def require_limits() -> None:
    """Refuse what importing the libraries would fail in, or OpenBLAS retry forever in."""
    try:
        Path.cwd()
    except OSError as error:
        raise ElmldaError(
            f"the working folder cannot be used: {error.strerror}. Go to another."
        ) from error
    n_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if n_files < FILES_NEEDED:
        raise ElmldaError(
            f"a process may open {n_files} files here, elmlda needs {FILES_NEEDED}. Raise ulimit -n."
        )
    needed, left = LIBRARY_BYTES + THREAD_BYTES * share_cores(1), _address_space()
    if left is not None and left < needed:
        raise ElmldaError(
            f"a process may take {max(left, 0) / 1e9:.2f} GB more of address space here, elmlda's "
            f"libraries need {needed / 1e9:.2f} GB. Raise ulimit -v, or set {THREAD_LIMITS[0]}=1."
        )


def _cpu_share(folder: Path) -> tuple[int, int]:
    """Microseconds of time in every so many; ValueError or a number below zero: no limit."""
    if (folder / "cpu.max").exists():
        quota, period = _read(folder, "cpu.max").split()
        return int(quota), int(period)
    return int(_read(folder, "cpu.cfs_quota_us")), int(_read(folder, "cpu.cfs_period_us"))


def available_memory(cgroups: Path = CGROUPS, own: Path = OWN_CGROUPS) -> int | None:
    """Bytes of memory that are free to use, None where the system does not say.

    What the system has free, or less if a control group of this process or a limit of its address
    space (ulimit -v) leaves less.
    """
    free = [_system_memory(), _address_space()]
    for folder in _cgroup_folders("memory", cgroups, own):
        with suppress(OSError, ValueError):
            free.append(_cgroup_memory(folder))
    return max(0, min(known)) if (known := [n for n in free if n is not None]) else None


def held_memory() -> int:
    """Bytes of memory that this process has already; 0 where the system does not say."""
    with suppress(OSError, ValueError):
        return int(_read(Path("/proc/self"), "statm").split()[1]) * resource.getpagesize()
    return 0


def measure_peak_bytes() -> int:
    """The most memory that this process has held.

    Not ru_maxrss where the system tells more: Linux lets a new process inherit its parent's.
    """
    peak, _, _ = _read_field("self/status", "VmHWM").partition(" ")
    if peak:
        return int(peak) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _system_memory() -> int | None:
    if available := _read_field("meminfo", "MemAvailable"):
        return int(available.split()[0]) * 1024
    with suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _address_space() -> int | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(OSError, ValueError):
        if limit != resource.RLIM_INFINITY:
            return limit - int(_read(Path("/proc/self"), "statm").split()[0]) * resource.getpagesize()
    return None


def _cgroup_memory(folder: Path) -> int:
    """Memory left in a control group, its page cache counted as free. ValueError: no limit."""
    second = (folder / "memory.max").exists()
    limit = int(_read(folder, "memory.max" if second else "memory.limit_in_bytes"))
    used = int(_read(folder, "memory.current" if second else "memory.usage_in_bytes"))
    stat = dict(line.split() for line in _read(folder, "memory.stat").splitlines())
    names = (f"{'' if second else 'total_'}{kind}_file" for kind in ("active", "inactive"))
    return limit - used + sum(int(stat.get(name, 0)) for name in names)


def _cgroup_folders(controller: str, cgroups: Path, own: Path) -> Iterator[Path]:
    """Control groups that may limit this process, of either version, and those around them.

    Inside a container the path may be the host's, which is not there; the mount is then the group.
    """
    try:
        lines = _read(own.parent, own.name).splitlines()
    except OSError:
        return
    for line in lines:
        _, names, path = line.split(":", 2)
        if not names:  # version 2
            mounts = [cgroups, cgroups / "unified"]
        elif controller in names.split(","):
            mounts = [cgroups / names, cgroups / controller]
        else:
            continue
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for mount in dict.fromkeys(mounts):
            yield from (mount.joinpath(*parts[:n]) for n in range(len(parts), -1, -1))


def _read(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


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
    return _read_field("cpuinfo", "model name") or platform.processor() or platform.machine()


def read_cpu_flags() -> frozenset[str]:
    """The processor's features as Linux names them (avx2, amx_bf16, …); empty if unknown."""
    return frozenset(_read_field("cpuinfo", "flags").split())


def _read_field(file: str, name: str) -> str:
    """The value of the first `name: value` in a file of /proc; empty if there is none."""
    with suppress(OSError):
        for line in _read(Path("/proc"), file).splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return ""
