"""Jobs on a Dask cluster: a place for `elmlda.execute.local`.

A worker gets a job only after this process has looked at it: it must have the same elmlda, the same
numpy and the same data. That, one network at a time, and the memory that a network takes are Dask
resources; a worker that was not looked at, or was found different, has none of the first kind.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from elmlda import version
from elmlda.datasets import Dataset, Table
from elmlda.errors import ElmldaError
from elmlda.execute.local import Job, Part, Result, Whole, Workers
from elmlda.settings import DatasetRef

ADDRESS = re.compile(r"[a-z]+://[\w.:\[\]%-]+:\d{1,5}", re.ASCII)
CONNECT_SECONDS = 10.0
NO_WORKER_SECONDS = 60.0
"""How long a run waits for a worker, before its first network and when all have gone."""
POLL_SECONDS = 1.0
CLOSE_SECONDS = 2.0
MEMORY = "MEMORY"
"""The Dask resource, in bytes; where a worker does not declare it, it is what it may use."""
USABLE = 0.95
"""Of a worker's memory limit: at this share its nanny ends it (Dask's default)."""
SAFE = "What was recorded is safe: the same command goes on from there, with or without {cluster}."


@dataclass(frozen=True)
class Cluster:
    """The workers of a Dask scheduler."""

    where: str
    """The scheduler's address, or its scheduler file."""
    dataset: DatasetRef
    load: Callable[[DatasetRef], Dataset | Table]
    """How jobs load the data: a worker keeps what it has loaded."""
    peak_bytes: int
    """Of one job."""

    @contextmanager
    def open(self) -> Iterator[Workers]:
        """Connect and look at every worker."""
        distributed = _import_distributed()
        with _silent_log(), _connect(self.where) as client:
            try:
                workers = _DaskWorkers(self, client)
                workers.wait_for_one()
                yield workers
            except distributed.KilledWorker as error:
                fact = "several workers died one after the other at the same network, most likely for "
                raise _explain_end(f"{self.where}: {fact}want of memory.") from error
            except (OSError, CancelledError) as error:
                raise _explain_end(f"{self.where}: the Dask scheduler went away.") from error


@contextmanager
def _connect(where: str) -> Iterator[Any]:
    import dask

    distributed = _import_distributed()
    address = find_scheduler(where)
    with dask.config.set({"distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s"}):
        try:
            client = distributed.Client(
                address, timeout=CONNECT_SECONDS, set_as_default=False, name="elmlda"
            )
        except (OSError, ValueError) as error:
            raise ElmldaError(
                f"{where}: the Dask scheduler cannot be reached: {_first_line(error)}."
            ) from error
        try:
            yield client
        finally:
            with suppress(Exception):
                client.close(timeout=CLOSE_SECONDS)


def find_scheduler(where: str) -> str:
    """Read a scheduler's address from its file, unless it is an address already."""
    path = Path(where)
    if not path.is_file():
        host, _, port = where.rpartition(":")
        if host and port.isdigit():
            return where
        raise ElmldaError(
            f"{where}: no such file, and no address.",
            "Use a scheduler file, or an address such as {cluster}.",
            cluster="tcp://HOST:8786",
        )
    try:
        address = json.loads(path.read_text(encoding="utf-8"))["address"]
        if not isinstance(address, str) or not ADDRESS.fullmatch(address):
            raise ValueError(f"the address is {str(address)[:80]!r}")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ElmldaError(
            f"{path}: not a scheduler file: {_first_line(error)}. Expected one that dask scheduler has "
            "written."
        ) from error
    return address


@dataclass
class _DaskWorkers:
    """Those of a cluster's workers that were looked at and found fit."""

    cluster: Cluster
    client: Any
    poll_seconds: float | None = POLL_SECONDS
    known: dict[str, bool] = field(default_factory=dict)
    """Address -> whether it is fit."""
    n_fit: int = 0
    asked: float = -POLL_SECONDS
    """When the scheduler was asked for its workers."""
    seen: float = field(default_factory=time.monotonic)
    """When there was a fit worker."""
    most_bytes: int = 0
    """Memory of the largest worker so far."""
    turn: str = field(default_factory=lambda: f"elmlda-{uuid.uuid4().hex[:8]}")
    """The resource that only workers have which this run has looked at: one each."""

    def wait_for_one(self) -> None:
        """Look at the workers that are there, or wait for the first; refuse any that is not fit."""
        if not self.count(refuse=True):
            warnings.warn(
                f"{self.cluster.where} has no worker yet: waiting {NO_WORKER_SECONDS:.0f} s for one.",
                stacklevel=2,
            )
        while not self.count(refuse=True):
            time.sleep(POLL_SECONDS / 4)

    def count(self, refuse: bool = False) -> int:
        """Workers, each of which does one network at a time with all its threads."""
        now = time.monotonic()
        if now - self.asked >= POLL_SECONDS or refuse:
            self._look(refuse)
            self.asked = now
            if self.n_fit:
                self.seen = now
            elif now - self.seen > NO_WORKER_SECONDS:
                raise _explain_end(
                    f"{self.cluster.where}: no worker that can take a network for "
                    f"{NO_WORKER_SECONDS:.0f} s. Start one with dask worker."
                )
        return self.n_fit

    def free_bytes(self) -> int | None:
        return self.most_bytes

    def submit(self, function: Callable[[Job], Result], job: Job) -> Future[Result]:
        future: Future[Result] = self._executor().submit(run_here, function, job)
        return future

    def reduce(
        self,
        function: Callable[[Job], Part],
        jobs: Sequence[Job],
        merge: Callable[[Part, Part], Part],
        finish: Callable[[Whole, Part], Result],
        whole: Whole,
    ) -> Result:
        # Parts stay with the workers and move between them, never to this process.
        def start(*arguments: Any) -> Any:
            return self.client.submit(*arguments, pure=False, resources=self._resources())

        parts = [start(run_here, function, one) for one in jobs]
        while len(parts) > 1:
            pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
            parts = [start(merge, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
        future: Future[Result] = self._executor().submit(run_here, finish, whole, parts[0])
        while not wait([future], self.poll_seconds).done:
            self.count()
        return future.result()

    def _resources(self) -> dict[str, int]:
        return {MEMORY: self.cluster.peak_bytes, self.turn: 1}

    def _executor(self) -> Any:
        return self.client.get_executor(pure=False, resources=self._resources())

    def _look(self, refuse: bool) -> None:
        """Look at workers that have joined; forget those that have gone."""
        if self.client.status != "running":
            raise CancelledError
        present = set(self.client.nthreads())
        new = sorted(present - set(self.known))
        self.known = {address: fit for address, fit in self.known.items() if address in present}
        if new:
            answers = self.client.run(
                prepare_worker, self._expected(), self.turn, workers=new, on_error="return"
            )
            for address, answer in answers.items():
                if not isinstance(answer, OSError):  # else it has gone already
                    self.known[address] = self._judge(address, answer, refuse)
        self.n_fit = sum(self.known.values())
        if refuse and present and not self.n_fit:
            needed, most = (n / 1e9 for n in (self.cluster.peak_bytes, self.most_bytes))
            raise ElmldaError(
                f"{self.cluster.where}: a network takes {needed:.1f} GB of memory, no worker offers "
                f"more than {most:.1f} GB.",
                "Start workers with a larger memory limit, or use fewer hidden units or a smaller "
                "{chunk}.",
                chunk=None,
            )

    def _expected(self) -> Expected:
        cluster = self.cluster
        return Expected(_versions(), cluster.dataset, cluster.load)

    def _judge(self, address: str, answer: Any, refuse: bool) -> bool:
        """Whether a worker is to have work, from its own answer."""
        if isinstance(answer, Offer):
            self.most_bytes = max(self.most_bytes, answer.memory_bytes)
            return answer.memory_bytes >= self.cluster.peak_bytes
        fault = answer if isinstance(answer, str) else f"{_first_line(answer)}."
        if refuse:
            raise ElmldaError(f"worker {address}: {fault} Make it the same there, or stop that worker.")
        warnings.warn(f"worker {address} gets no work: {fault}", stacklevel=2)
        return False


@dataclass(frozen=True)
class Expected:
    """What a worker must have to give the same results as this process."""

    versions: dict[str, str]
    dataset: DatasetRef
    load: Callable[[DatasetRef], Dataset | Table]

    def check(self) -> None:
        """Refuse the process that this runs in, if it is different."""
        for name, theirs in _versions().items():
            if theirs != self.versions[name]:
                raise ElmldaError(f"{name} is {theirs} there, {self.versions[name]} here.")
        self.load(self.dataset)


@dataclass(frozen=True)
class Offer:
    """What a worker that is fit has for networks."""

    memory_bytes: int


async def prepare_worker(expected: Expected, turn: str, dask_worker: Any) -> Offer | str:
    """Check the worker that this runs on, and have it offer itself for work.

    Parameters
    ----------
    turn : name of the resource for one network at a time

    Returns
    -------
    What the worker offers, or why it is not fit.
    """
    try:
        expected.check()
    except ElmldaError as error:
        return error.fact
    except Exception as error:  # raised, it would take a traceback along that may not travel
        return f"{type(error).__name__}: {_first_line(error)}."
    # For good, so that a network's own limit has nothing else to go back to.
    threadpool_limits(dask_worker.state.nthreads, user_api="blas")
    resources = dask_worker.state.total_resources
    limit = dask_worker.memory_manager.memory_limit
    memory = resources.get(MEMORY) or (int(USABLE * limit) if limit else _total_memory())
    await dask_worker.set_resources(**{MEMORY: memory, turn: 1})
    # Jobs that wait for such a worker are looked at again when one starts, not when it gets resources.
    running = dask_worker.status
    dask_worker.status = type(running).paused
    dask_worker.status = running
    return Offer(memory)


def run_here(function: Callable[..., Result], job: Any, *inputs: object) -> Result:
    """Do a job on the worker that this runs on, with as many threads as it has."""
    from distributed import get_worker

    threads = get_worker().state.nthreads
    job = replace(job, resources=replace(job.resources, threads=threads))
    return function(job, *inputs)


def _versions() -> dict[str, str]:
    return {"elmlda": version.__version__, "numpy": np.__version__}


def _total_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ElmldaError(
            "a cluster needs Dask: pip install 'elmlda[cluster]', here and where the workers are."
        ) from error
    return distributed


@contextmanager
def _silent_log() -> Iterator[None]:
    """Without what Dask logs of a lost connection: an error says it in one line."""
    names = [
        name
        for name in logging.root.manager.loggerDict
        if name.startswith(("distributed", "tornado", "asyncio"))
    ]
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _explain_end(fact: str) -> ElmldaError:
    """Why a run ends before all its networks are trained, and how to go on with it."""
    return ElmldaError(fact, SAFE, cluster=None)


def _first_line(error: object) -> str:
    lines = str(error).splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
