"""Jobs on a Dask cluster: a backend for `elmlda.execute.local`.

A worker gets jobs only once it is checked: it must have the same elmlda, the same numpy and the same
data as this process. Passing that check, one network at a time, and the memory that a network takes are
Dask resources; a worker that was not checked, or did not pass, has none of the first kind.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from elmlda.datasets import Dataset, Table
from elmlda.datasets.content import explain_reading
from elmlda.errors import ElmldaError
from elmlda.execute.local import Job, Part, Result, SharedJob, submit_in_thread
from elmlda.execute.worker import MEMORY, first_line, library_versions, prepare_worker, run_here
from elmlda.settings import DatasetRef

ADDRESS = re.compile(r"(?:(?:tcp|tls|ucx|wss?)://)?[\w.:\[\]%-]+:\d{1,5}", re.ASCII)
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0
"""How long a run waits for the scheduler's answer, and for each worker's to its check."""
NO_ANSWER = "it does not answer."
NO_WORKER_SECONDS = 60.0
"""How long a run waits for a worker, before its first network and after the last one left."""
POLL_SECONDS = 1.0
CLOSE_SECONDS = 2.0


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
    def open(self) -> Iterator[_DaskWorkers]:
        """Connect and check every worker."""
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
            asyncio.run(_shake_hands(distributed, address))
            options = {"set_as_default": False, "name": "elmlda"}
            client = _within(ANSWER_SECONDS, distributed.Client, address, **options)
        except Exception as error:  # of any kind: Dask and its transports raise many
            fact = f"{where}: the Dask scheduler cannot be reached: {first_line(error)}."
            raise ElmldaError(fact) from error
        try:
            yield client
        finally:
            with suppress(Exception):
                _within(2 * CLOSE_SECONDS, client.close, timeout=CLOSE_SECONDS)


async def _shake_hands(distributed: Any, address: str) -> None:
    """Fail where no Dask scheduler answers; a `Client` would go on trying in the background."""
    security = distributed.Security().get_connection_args("client")
    opened = distributed.comm.connect(address, timeout=CONNECT_SECONDS, **security)
    try:
        comm = await asyncio.wait_for(opened, ANSWER_SECONDS)
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"no answer for {ANSWER_SECONDS:.0f} s") from error
    except MemoryError as error:  # the first bytes of another protocol, taken for a length
        raise OSError("what answers there is no Dask scheduler") from error
    comm.abort()


def _within(seconds: float, ask: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    """Call `ask` with a timeout: a scheduler that hangs would block Dask's call forever."""
    return submit_in_thread(ask, *arguments, **options).result(seconds)


def find_scheduler(where: str) -> str:
    """Read a scheduler's address from its file, unless it is an address already."""
    path = Path(where)
    with explain_reading(where):
        is_file = path.is_file()
    if not is_file:
        if ADDRESS.fullmatch(where):
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
        expected = "Expected one that dask scheduler has written."
        raise ElmldaError(f"{path}: not a scheduler file: {first_line(error)}. {expected}") from error
    return address


@dataclass
class _DaskWorkers:
    """The workers of a cluster that passed the check."""

    cluster: Cluster
    client: Any
    poll_seconds: float | None = POLL_SECONDS
    passed: dict[str, bool] = field(default_factory=dict)
    """Address of a worker that was checked -> whether it passed."""
    n_passed: int = 0
    asked: float = -POLL_SECONDS
    """When the scheduler was last asked for its workers."""
    last_passed: float = field(default_factory=time.monotonic)
    """When there was last a worker that had passed."""
    most_bytes: int = 0
    """Memory of the largest worker so far."""
    turn: str = field(default_factory=lambda: f"elmlda-{uuid.uuid4().hex[:8]}")
    """The resource that only workers have which passed this run's check: one each."""

    def wait_for_one(self) -> None:
        """Check all workers, or wait for the first; refuse any that does not pass."""
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
            self._update(refuse)
            self.asked = now
            if self.n_passed:
                self.last_passed = now
            elif now - self.last_passed > NO_WORKER_SECONDS:
                raise _explain_end(
                    f"{self.cluster.where}: no worker that can take a network for "
                    f"{NO_WORKER_SECONDS:.0f} s. Start one with dask worker."
                )
        return self.n_passed

    def free_bytes(self) -> int | None:
        return self.most_bytes

    def submit(self, function: Callable[[Job], Result], job: Job) -> Future[Result]:
        future: Future[Result] = self._executor().submit(run_here, function, job)
        return future

    def reduce(self, shared: SharedJob[Part, Result]) -> Result:
        # Parts stay with the workers and move between them, never to this process.
        def start(*arguments: Any) -> Any:
            return self.client.submit(*arguments, pure=False, resources=self._resources())

        parts = [start(run_here, shared.do_part, part) for part in shared.parts]
        while len(parts) > 1:
            pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
            parts = [start(shared.merge, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
        future: Future[Result] = self._executor().submit(
            run_here, shared.finish, shared.whole, parts[0]
        )
        while not wait([future], self.poll_seconds).done:
            self.count()
        return future.result()

    def _resources(self) -> dict[str, int]:
        return {MEMORY: self.cluster.peak_bytes, self.turn: 1}

    def _executor(self) -> Any:
        return self.client.get_executor(pure=False, resources=self._resources())

    def _update(self, refuse: bool) -> None:
        """Check workers that have joined; forget those that have left."""
        if self.client.status != "running":
            raise CancelledError
        present = self._present()
        new = sorted(present - set(self.passed))
        self.passed = {address: ok for address, ok in self.passed.items() if address in present}
        for address, answer in self._check(new).items():
            if not isinstance(answer, OSError):  # else it has gone already
                self.passed[address] = self._judge(address, answer, refuse)
        self.n_passed = sum(self.passed.values())
        if refuse and present and not self.n_passed:
            needed, most = (n / 1e9 for n in (self.cluster.peak_bytes, self.most_bytes))
            raise ElmldaError(
                f"{self.cluster.where}: a network takes {needed:.1f} GB of memory, no worker offers "
                f"more than {most:.1f} GB.",
                "Start workers with a larger memory limit, or use fewer hidden units or a smaller "
                "{chunk}.",
                chunk=None,
            )

    def _present(self) -> set[str]:
        """Addresses of the workers that the scheduler has."""
        try:
            return set(_within(ANSWER_SECONDS, self.client.nthreads))
        except TimeoutError as error:
            fact = f"the Dask scheduler has not answered for {ANSWER_SECONDS:.0f} s."
            raise _explain_end(f"{self.cluster.where}: {fact}") from error

    def _check(self, workers: list[str]) -> dict[str, Any]:
        """The workers' answers. One that is stopped gives none, and must not block the others."""
        expected = library_versions(), self.cluster.dataset, self.cluster.load
        ask = partial(self.client.run, prepare_worker, *expected, self.turn, on_error="return")
        asked = {address: submit_in_thread(ask, workers=[address]) for address in workers}
        deadline = time.monotonic() + ANSWER_SECONDS
        while (waiting := wait(asked.values(), POLL_SECONDS).not_done) and time.monotonic() < deadline:
            self._present()
        found: dict[str, Any] = {}
        for address, answer in asked.items():
            found |= {address: NO_ANSWER} if answer in waiting else answer.result()
        return found

    def _judge(self, address: str, answer: Any, refuse: bool) -> bool:
        """Whether a worker gets jobs, by its answer: its memory, or why it does not pass."""
        if isinstance(answer, int):
            self.most_bytes = max(self.most_bytes, answer)
            return answer >= self.cluster.peak_bytes
        fault = answer if isinstance(answer, str) else f"{first_line(answer)}."
        if refuse:
            remedy = "Continue it" if fault == NO_ANSWER else "Make it the same there"
            raise ElmldaError(f"worker {address}: {fault} {remedy}, or stop that worker.")
        warnings.warn(f"worker {address} gets no work: {fault}", stacklevel=2)
        return False


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
    """Without what Dask logs about a lost connection: our error says it in one line."""
    loggers = [
        logging.getLogger(name)
        for name in logging.root.manager.loggerDict
        if name.startswith(("distributed", "tornado", "asyncio"))
    ]
    levels = {logger: logger.level for logger in loggers}
    try:
        for logger in levels:
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


def _explain_end(fact: str) -> ElmldaError:
    """Why a run ends before all its networks are trained, and how to go on with it."""
    return ElmldaError(
        fact,
        "What was recorded is safe: the same command goes on from there, with or without {cluster}.",
        cluster=None,
    )
