"""Description of the machine and of the code: cores, memory, processor, BLAS, commit."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent
RECORD = "commit.json"
"""File in the package that scripts/hatch_build.py adds to wheels and source distributions."""
CGROUP = Path("/sys/fs/cgroup")


@cache
def count_cores() -> int:
    """Return the number of cores that this process may use, by affinity and container quota."""
    from joblib import cpu_count

    return int(cpu_count())


def free_memory() -> int:
    """Return the bytes that a run may take: free memory plus the memory of this process.

    A container's limit counts too.
    """
    import psutil

    free = int(psutil.virtual_memory().available)
    with suppress(OSError, ValueError):  # ValueError: "max", no limit
        limit, used = (int((CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        cached = _read_field(CGROUP / "memory.stat", "inactive_file", separator=" ")
        free = min(free, max(0, limit - used + int(cached or 0)))
    return free + int(psutil.Process().memory_info().rss)


def count_blas_threads() -> int:
    """Return the number of threads that BLAS uses, by its environment and threadpoolctl's limits."""
    return max((int(pool["num_threads"]) for pool in _find_blas()), default=1)


@cache
def describe_machine() -> dict[str, Any]:
    """Return processor, memory, BLAS and versions: times and rounding may depend on them."""
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
    """Return the value after the first `name:` in a system file, or an empty string."""
    with suppress(OSError):
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(separator)
            if key.strip() == name:
                return value.strip()
    return ""


# The commit of the code: from git in a checkout, from the build's record in an installed package


@cache
def describe_code() -> dict[str, Any]:
    """Return {"commit": 40 hexadecimal digits, "changed": bool}, or {} if the commit is unknown.

    The code is changed if a tracked file of the package differs from the commit.
    """
    record = PACKAGE / RECORD
    if record.exists():  # a built package, perhaps in the repository of another project
        return dict(json.loads(record.read_text("utf-8")))
    if not (PACKAGE.parent / ".git").exists():
        return {}
    try:
        _run_git("ls-files", "--error-unmatch", f"{PACKAGE.name}/__init__.py")
        commit = _run_git("rev-parse", "--verify", "HEAD").strip()
        changes = _run_git("status", "--porcelain", "--untracked-files=no", "--", PACKAGE.name)
    except (OSError, subprocess.CalledProcessError):  # no git, another owner, untracked, no commit yet
        return {}
    return {"commit": commit, "changed": bool(changes)}


def _run_git(*words: str) -> str:
    # A hook's variables, such as GIT_DIR, may be about another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # Without optional locks, status never writes, and disturbs no other git command.
    command = ["git", "--no-optional-locks", *words]
    folder, silent = PACKAGE.parent, subprocess.DEVNULL
    return subprocess.check_output(command, cwd=folder, env=environment, stderr=silent, text=True)
