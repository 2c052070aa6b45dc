"""Jobs on this machine's cores or on a Dask cluster, by joblib."""

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
from elmlda.settings import MachineOptions

TRACKER_WARNINGS = "ignore:resource_tracker:UserWarning"
"""loky's clean-up process warns of resources that Ctrl-C left to it."""
CLUSTER_SECONDS = 60
"""A cluster must answer within this time."""


def compute_all(
    compute: Callable[[Any, Any], Any], data: Any, jobs: Sequence[Any], machine: MachineOptions
) -> Generator[Any, None, None]:
    """Yield the results of `compute(data, job)` for all jobs, in the order in which they are ready.

    Workers get the data once: joblib maps arrays into their memory, a cluster gets them at the start.
    """
    with _open_cluster(machine.cluster, data) if machine.cluster else _end_workers():
        parallel = Parallel(
            n_jobs=None if machine.cluster else machine.jobs, return_as="generator_unordered"
        )
        work = compute if machine.cluster else partial(_compute_undisturbed, compute, os.getpid())
        results = parallel(delayed(work)(data, job) for job in jobs)
        try:
            for result in results:  # noqa: UP028  `yield from` would close it before `finally` does
                yield result
        except TerminatedWorkerError as error:
            raise ElmldaError(
                "a process that trained a network was killed, perhaps for lack of memory. Recorded "
                "results are safe:",
                "run the same command again, with fewer {jobs} if memory is short.",
                jobs=None,
            ) from error
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # about jobs that Ctrl-C stopped
                results.close()


def _compute_undisturbed(compute: Callable[[Any, Any], Any], starter: int, data: Any, job: Any) -> Any:
    """Do a job in a worker that ignores Ctrl-C: the process that started the worker ends it."""
    if os.getpid() != starter:  # joblib may do jobs in the starter itself
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return compute(data, job)


@contextmanager
def _end_workers() -> Iterator[None]:
    """End the worker processes when a run ends, before its folder is unlocked."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = f"{before},{TRACKER_WARNINGS}" if before else TRACKER_WARNINGS
    try:
        yield
    finally:
        get_reusable_executor().shutdown(wait=True, kill_workers=True)
        del os.environ["PYTHONWARNINGS"]
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


@contextmanager
def _open_cluster(address: str, data: Any) -> Iterator[None]:
    try:
        from distributed import Client
    except ImportError as error:
        raise ElmldaError("a cluster needs Dask: pip install 'elmlda[cluster]'.") from error
    where = {"address": address} if "://" in address else {"scheduler_file": address}
    try:
        make_client: Any = Client
        client = make_client(**where, timeout=CLUSTER_SECONDS, set_as_default=False)
        client.wait_for_workers(1, timeout=CLUSTER_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise ElmldaError(
            f"no cluster with workers answers at {address} ({error}).",
            "Start a scheduler and workers, or leave out {cluster}.",
            cluster=None,
        ) from error
    with client, parallel_config("dask", client=client, scatter=[data]):
        yield
