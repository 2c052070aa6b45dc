"""Run jobs in this process, in local processes, or on any other `Backend`.

Experiments know backends by this module's interface only; `elmlda.execute.cluster` has another.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, Generic, Protocol, TypeVar

from elmlda.errors import ElmldaError
from elmlda.networks.cost import free_memory
from elmlda.stop import SIGNALS

Job = TypeVar("Job")
Part = TypeVar("Part")
Result = TypeVar("Result")


class Workers(Protocol):
    """An open backend, which does the jobs."""

    @property
    def poll_seconds(self) -> float | None:
        """How often to ask `count` again while nothing finishes; None: it never changes."""

    def count(self) -> int:
        """Jobs that may be under way at once."""

    def free_bytes(self) -> int | None:
        """Memory that a job may take; None if unknown."""

    def submit(self, function: Callable[[Job], Result], job: Job) -> Future[Result]:
        """Start a job."""

    def reduce(self, shared: SharedJob[Part, Result]) -> Result:
        """Do the parts of a job that workers share, merge them and finish the job."""


@dataclass(frozen=True)
class SharedJob(Generic[Part, Result]):
    """A job in parts, whose results are merged by a tree and in order."""

    do_part: Callable[[Any], Part]
    parts: Sequence[Any]
    merge: Callable[[Part, Part], Part]
    finish: Callable[[Any, Part], Result]
    """Makes the result of the whole job from the merged parts."""
    whole: Any


class Backend(Protocol):
    """Where jobs run."""

    def open(self) -> AbstractContextManager[Workers]:
        """Start or find the workers; they are released on every exit."""


def execute(
    function: Callable[[Job], Result], jobs: Iterable[Job], backend: Backend | int = 1
) -> Iterator[tuple[Job, Result]]:
    """Each job with its result, in the order in which they finish.

    No more jobs are under way than the backend has workers: an interruption loses at most those.
    A number for the backend is that of `Local` processes.
    """
    waiting = iter(jobs)
    if first := list(islice(waiting, 1)):  # without a job, do not wait for a backend
        with (Local(backend) if isinstance(backend, int) else backend).open() as workers:
            yield from _complete(workers, function, chain(first, waiting))


def _complete(
    workers: Workers, function: Callable[[Job], Result], waiting: Iterator[Job]
) -> Iterator[tuple[Job, Result]]:
    under_way: dict[Future[Result], Job] = {}

    def top_up() -> None:
        # At least one is always under way: if there is no worker at the moment, it waits for the next.
        n_more = max(workers.count() - len(under_way), 0 if under_way else 1)
        under_way.update({workers.submit(function, job): job for job in islice(waiting, n_more)})

    top_up()
    while under_way:
        done, _ = wait(under_way, workers.poll_seconds, FIRST_COMPLETED)
        for future in done:
            job, result = under_way.pop(future), future.result()
            yield job, result
            # Only now: the caller has stored the result before the next job starts.
            top_up()
        if not done:
            top_up()


@dataclass(frozen=True)
class Local:
    """Processes of this machine: with one, jobs run in this process, in their order."""

    n_processes: int = 1

    @contextmanager
    def open(self) -> Iterator[Workers]:
        if self.n_processes == 1:
            yield _LocalWorkers(submit_in_thread, 1)
            return
        with _explain_few_handles():
            context = multiprocessing.get_context("spawn")
            pool = ProcessPoolExecutor(self.n_processes, context, initializer=_prepare_process)
        with pool:
            try:
                yield _LocalWorkers(partial(_submit, pool), self.n_processes)
            except BaseException as error:
                # A signal, or a job's own error: do not wait for the jobs under way.
                for process in list((pool._processes or {}).values()):
                    process.kill()
                if not isinstance(error, BrokenProcessPool):
                    raise
                raise ElmldaError(
                    "a worker process died, most likely for want of memory.",
                    "What was recorded is safe: run the same command again, with fewer {jobs} or a "
                    "smaller {chunk}.",
                    jobs=None,
                    chunk=None,
                ) from error


@dataclass(frozen=True)
class _LocalWorkers:
    start: Callable[..., Future[Any]]
    n_workers: int
    poll_seconds: float | None = None

    def count(self) -> int:
        return self.n_workers

    def free_bytes(self) -> int | None:
        return free_memory()

    def submit(self, function: Callable[[Job], Result], job: Job) -> Future[Result]:
        return self.start(function, job)

    def reduce(self, shared: SharedJob[Part, Result]) -> Result:
        numbers = {id(part): i for i, part in enumerate(shared.parts)}
        done = _complete(self, shared.do_part, iter(shared.parts))
        numbered = ((numbers[id(part)], result) for part, result in done)
        merged = _merge_tree(numbered, len(shared.parts), shared.merge)
        # In this process, not in a worker: the merged parts may be large to send.
        return submit_in_thread(shared.finish, shared.whole, merged).result()


def _merge_tree(
    parts: Iterable[tuple[int, Part]], n_parts: int, merge: Callable[[Part, Part], Part]
) -> Part:
    """Merge numbered parts, neighbours first, each pair as soon as both have arrived.

    The pairs do not depend on the order of arrival, so that rounding is the same in every run.
    """
    single: dict[tuple[int, int], Part] = {}
    for number, part in parts:
        here, level, width = number, 0, n_parts
        while width > 1:
            if (here ^ 1) < width:
                if (level, here ^ 1) not in single:
                    single[level, here] = part
                    break
                other = single.pop((level, here ^ 1))
                part = merge(other, part) if here % 2 else merge(part, other)
            here, level, width = here // 2, level + 1, (width + 1) // 2
        else:
            return part
    raise ValueError(f"fewer than {n_parts} parts")


def submit_in_thread(function: Callable[..., Result], *args: Any, **options: Any) -> Future[Result]:
    """Call the function in a daemon thread, so that Ctrl-C need not wait for BLAS."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(function(*args, **options))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def _submit(pool: ProcessPoolExecutor, function: Callable[[Job], Result], job: Job) -> Future[Result]:
    """Submit with signals blocked: a worker that this starts inherits it, so only the parent stops."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        with _explain_few_handles():
            return pool.submit(function, job)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _explain_few_handles() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ElmldaError(
            f"a worker process cannot be started: {error.strerror}.",
            "Use fewer {jobs}, or raise the limits of ulimit; what was recorded is safe.",
            jobs=None,
        ) from error


def _prepare_process() -> None:
    """Ignore signals sent to the process group, and end with the parent."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
