"""Where jobs run: in this process, in local processes, or wherever another `Backend` takes them.

Experiments know backends by this module's interface only; `elmlda.execute.cluster` has one more.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Protocol, TypeVar

from elmlda.errors import ElmldaError
from elmlda.networks.memory import free_memory

STOP_SIGNALS = signal.SIGINT, signal.SIGTERM

Job = TypeVar("Job")
Part = TypeVar("Part")
Whole = TypeVar("Whole")
Result = TypeVar("Result")


class Workers(Protocol):
    """A backend that is open: what does the jobs."""

    @property
    def poll_seconds(self) -> float | None:
        """How often to ask `count` again while nothing finishes; None: it never changes."""

    def count(self) -> int:
        """Jobs that may be under way at once."""

    def free_bytes(self) -> int | None:
        """Memory that a job may take; None where nobody knows."""

    def submit(self, function: Callable[[Job], Result], job: Job) -> Future[Result]:
        """Start a job."""

    def reduce(
        self,
        function: Callable[[Job], Part],
        jobs: Sequence[Job],
        merge: Callable[[Part, Part], Part],
        finish: Callable[[Whole, Part], Result],
        whole: Whole,
    ) -> Result:
        """Do the jobs, merge their results by a tree and in order, and finish the whole with that."""


class Backend(Protocol):
    """Where jobs run."""

    def open(self) -> AbstractContextManager[Workers]:
        """Bring the workers up, and let them go at the end, however it comes."""


def execute(
    function: Callable[[Job], Result], jobs: Iterable[Job], backend: Backend | int = 1
) -> Iterator[tuple[Job, Result]]:
    """Each job with its result, in the order in which they finish.

    No more jobs are under way than the backend has workers, so what an interruption loses is at most
    those.

    Parameters
    ----------
    backend : a number is of local processes: see `Local`
    """
    waiting = iter(jobs)
    first = list(islice(waiting, 1))
    if first:  # else there is no need of a backend, which may be far away
        with open_backend(backend) as workers:
            yield from _complete(workers, function, chain(first, waiting))


def open_backend(backend: Backend | int) -> AbstractContextManager[Workers]:
    """Bring a backend's workers up; a number is of local processes."""
    return (Local(backend) if isinstance(backend, int) else backend).open()


def _complete(
    workers: Workers, function: Callable[[Job], Result], waiting: Iterator[Job]
) -> Iterator[tuple[Job, Result]]:
    under_way: dict[Future[Result], Job] = {}

    def top_up() -> None:
        # One must always be under way: where there is no worker just now, it waits for the next.
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
    """The machine that this is: with one process, jobs run in this one, in their order."""

    n_processes: int = 1

    @contextmanager
    def open(self) -> Iterator[Workers]:
        if self.n_processes == 1:
            with _BackgroundThread() as executor:
                yield _LocalWorkers(executor.submit, 1)
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.n_processes, context, initializer=_prepare_worker) as pool:
            try:
                yield _LocalWorkers(_deaf_to_signals(pool.submit), self.n_processes)
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

    def reduce(
        self,
        function: Callable[[Job], Part],
        jobs: Sequence[Job],
        merge: Callable[[Part, Part], Part],
        finish: Callable[[Whole, Part], Result],
        whole: Whole,
    ) -> Result:
        numbers = {id(one): i for i, one in enumerate(jobs)}
        parts = ((numbers[id(one)], part) for one, part in _complete(self, function, iter(jobs)))
        merged = _merge_tree(parts, len(jobs), merge)
        # In this process, wherever the parts came from: what is merged may be large to send.
        with _BackgroundThread() as executor:
            finished: Future[Result] = executor.submit(finish, whole, merged)  # type: ignore[no-untyped-call]
            return finished.result()


def _merge_tree(
    parts: Iterable[tuple[int, Part]], n_parts: int, merge: Callable[[Part, Part], Part]
) -> Part:
    """Merge numbered parts, neighbours first, each pair as soon as it is there.

    Which are merged depends on no order of arrival, so that rounding is the same in every run.
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


class _BackgroundThread(Executor):
    """Runs each job in a daemon thread of its own, so that Ctrl-C need not wait for BLAS."""

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]
        future: Future[object] = Future()

        def run() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return future


def _deaf_to_signals(submit: Callable[..., Future[Result]]) -> Callable[..., Future[Result]]:
    """Submitting may start a worker, which inherits what is blocked: to stop is the parent's."""

    def submit_blocked(*arguments: object) -> Future[Result]:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        try:
            return submit(*arguments)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    return submit_blocked


def _prepare_worker() -> None:
    """Be deaf to signals that a terminal or a job scheduler sends to all, and end with the parent."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
