"""Parallel jobs on this machine's cores or on a Dask cluster, by joblib."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from elmlda.errors import ElmldaError
from elmlda.options import MachineOptions

TRACKER_WARNINGS = "ignore:resource_tracker:UserWarning"
"""Filter for warnings of loky's clean-up process after Ctrl-C."""
CLUSTER_SECONDS = 60
"""Time within which a cluster must answer."""


def compute_all(
    compute: Callable[[Any, Any], Any], data: Any, jobs: Sequence[Any], machine: MachineOptions
) -> Generator[Any, None, None]:
    """Yield the results of `compute(data, job)` for all jobs, in the order in which they are ready.

    Each worker gets the data once: joblib maps arrays into memory, a cluster gets them at the start.
    One job at a time is computed in this process.
    """
    if not machine.cluster and min(machine.jobs, len(jobs)) <= 1:
        yield from (compute(data, job) for job in jobs)
        return
    with _open_cluster(machine.cluster, data) if machine.cluster else _end_workers():
        n_jobs = None if machine.cluster else machine.jobs
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        work = compute if machine.cluster else partial(_compute_undisturbed, compute, os.getpid())
        results = parallel(delayed(work)(data, job) for job in jobs)
        try:
            for result in results:  # noqa: UP028  `yield from` would close it before `finally` does
                yield result
        except TerminatedWorkerError as error:
            fact = "a process that trained a network was killed, perhaps for lack of memory."
            advice = "Run the same command again, with fewer {jobs} if memory is short."
            raise ElmldaError(fact, advice, jobs=None) from error
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # about jobs that Ctrl-C stopped
                results.close()


def _compute_undisturbed(compute: Callable[[Any, Any], Any], starter: int, data: Any, job: Any) -> Any:
    """Compute a job in a worker that ignores Ctrl-C; the process that started the worker ends it."""
    if os.getpid() != starter:  # joblib may compute jobs in the starter itself
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return compute(data, job)


@contextmanager
def _end_workers() -> Iterator[None]:
    """End the worker processes when a run ends, before its folder is unlocked."""
    filters = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = f"{filters},{TRACKER_WARNINGS}" if filters else TRACKER_WARNINGS
    try:
        yield
    finally:
        get_reusable_executor().shutdown(wait=True, kill_workers=True)
        del os.environ["PYTHONWARNINGS"]
        if filters is not None:
            os.environ["PYTHONWARNINGS"] = filters


@contextmanager
def _open_cluster(address: str, data: Any) -> Iterator[None]:
    try:
        from distributed import Client
    except ImportError as error:
        raise ElmldaError("a cluster needs Dask: pip install 'elmlda[cluster]'.") from error
    location = {"address": address} if "://" in address else {"scheduler_file": address}
    try:
        make_client: Any = Client
        client = make_client(**location, timeout=CLUSTER_SECONDS, set_as_default=False)
        client.wait_for_workers(1, timeout=CLUSTER_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        fact = f"no cluster with workers answers at {address} ({error})."
        advice = "Start a scheduler and workers, or leave out {cluster}."
        raise ElmldaError(fact, advice, cluster=None) from error
    with client, parallel_config("dask", client=client, scatter=[data]):
        yield
