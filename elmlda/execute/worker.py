"""Functions that run on a Dask worker: it is checked and prepared once, and then does jobs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda import version
from elmlda.datasets import Dataset, Table
from elmlda.errors import ElmldaError
from elmlda.execute.local import Result
from elmlda.settings import DatasetRef

MEMORY = "MEMORY"
"""The Dask resource, in bytes; a worker that does not declare it has its memory limit."""
USABLE = 0.95
"""Of a worker's memory limit: at this share its nanny ends it (Dask's default)."""


async def prepare_worker(
    versions: dict[str, str],
    dataset: DatasetRef,
    load: Callable[[DatasetRef], Dataset | Table],
    turn: str,
    dask_worker: Any,
) -> int | str:
    """Check the Dask worker that this runs on, and give it the resources that jobs ask for.

    It must have the same libraries and data as the process that sends the jobs. Returns the bytes of
    memory that it has for a network, or why it does not pass. `turn` is the resource for one network
    at a time.
    """
    for name, theirs in library_versions().items():
        if theirs != versions[name]:
            return f"{name} is {theirs} there, {versions[name]} here."
    try:
        load(dataset)
    except ElmldaError as error:
        return error.fact
    except Exception as error:  # returned as text: its traceback may not be picklable
        return f"{type(error).__name__}: {first_line(error)}."
    # For the worker's lifetime: a network's own limit is undone after it, and would leave the default.
    threadpool_limits(dask_worker.state.nthreads, user_api="blas")
    resources = dask_worker.state.total_resources
    limit = dask_worker.memory_manager.memory_limit
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    memory = int(resources.get(MEMORY) or (USABLE * limit if limit else total))
    await dask_worker.set_resources(**{MEMORY: memory, turn: 1})
    # The scheduler reconsiders waiting jobs when a worker starts or resumes, not at new resources.
    running = dask_worker.status
    dask_worker.status = type(running).paused
    dask_worker.status = running
    return memory


def run_here(function: Callable[..., Result], job: Any, *inputs: object) -> Result:
    """Do a job on the worker that this runs on, with as many threads as it has."""
    from distributed import get_worker

    threads = get_worker().state.nthreads
    job = replace(job, resources=replace(job.resources, threads=threads))
    return function(job, *inputs)


def library_versions() -> dict[str, str]:
    """What must be the same in all processes of a run."""
    return {"elmlda": version.__version__, "numpy": np.__version__}


def first_line(error: object) -> str:
    """Of an error's message, or its kind where it has none."""
    lines = str(error).splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
