"""Jobs on this machine's cores or on a Dask cluster, by joblib."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from elmlda.errors import ElmldaError
from elmlda.machine import count_cores, share_cores
from elmlda.options import TEXT, OptionError, Options, option, whole

MOST_PROCESSES = 1024
TRACKER_WARNINGS = "ignore:resource_tracker:UserWarning"
"""loky's process that cleans up after others warns of what Ctrl-C left to it."""
CLUSTER_SECONDS = 60
"""A cluster that does not answer in this time is given up."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Machine(Options):
    """What a run may use of this machine or of a cluster; changes no result beyond rounding."""

    jobs: int = option(1, whole(1, MOST_PROCESSES), "Networks to train at the same time.")
    threads: int | None = option(
        None,
        whole(1, MOST_PROCESSES),
        "BLAS threads of each.  [default: cores / --jobs]",
    )
    cluster: str | None = option(
        None,
        TEXT,
        "Train there: address or file of a Dask scheduler.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cluster and self.jobs > 1:
            raise OptionError(
                "", "{cluster} and {jobs} exclude each other.", cluster=None, jobs=self.jobs
            )
        if self.cluster and "://" not in self.cluster and not Path(self.cluster).exists():
            raise ElmldaError(
                f"{self.cluster}: no such scheduler file.",
                "{cluster} takes an address such as tcp://HOST:8786, or that file.",
                cluster=None,
            )
        if self.jobs > 1 and self.jobs * (self.threads or 1) > count_cores():
            raise ElmldaError(
                f"this machine has {count_cores()} cores.",
                "{jobs} × {threads} is more: lower one of them.",
                jobs=self.jobs,
                threads=self.threads or 1,
            )

    @property
    def threads_each(self) -> int:
        """BLAS threads of each network."""
        return self.threads or share_cores(self.jobs)

    def __str__(self) -> str:
        if self.cluster:
            return f"by the workers at {self.cluster}"
        return f"in {self.jobs} × {self.threads_each} threads"


def compute_all(
    compute: Callable[[Any, Any], Any], data: Any, jobs: Sequence[Any], machine: Machine
) -> Iterator[Any]:
    """The results of `compute(data, job)` for all jobs, in the order in which they are ready.

    Workers get the data once: joblib maps arrays into their memory, a cluster is sent them at first.
    """
    if not machine.cluster and min(machine.jobs, len(jobs)) <= 1:
        yield from (compute(data, job) for job in jobs)
        return
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

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
                "a process that trained a network was killed, perhaps for lack of memory. What was "
                "recorded is safe:",
                "run the same command again, with fewer {jobs} if memory is short.",
                jobs=None,
            ) from error
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # jobs that are given up on Ctrl-C
                results.close()


def _compute_undisturbed(compute: Callable[[Any, Any], Any], starter: int, data: Any, job: Any) -> Any:
    """Do a job in a worker, which Ctrl-C does not end: the process that started it does."""
    if os.getpid() != starter:  # joblib may do jobs in the process itself, where others want the signal
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return compute(data, job)


@contextmanager
def _end_workers() -> Iterator[None]:
    """End worker processes when a run ends: at once if it failed, before the folder is unlocked."""
    from joblib.externals.loky import get_reusable_executor

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
    from joblib import parallel_config

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
