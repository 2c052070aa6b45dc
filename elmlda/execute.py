"""Where networks run: in this process, or side by side in local processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar

from elmlda.errors import ElmldaError

Job = TypeVar("Job")
Result = TypeVar("Result")


def execute(
    function: Callable[[Job], Result], jobs: Iterable[Job], n_processes: int = 1
) -> Iterator[tuple[Job, Result]]:
    """Each job with its result, in the order in which they finish.

    No more than `n_processes` jobs are under way, so what an interruption loses is at most those.
    With one process, jobs run in this one, in their order.
    """
    if n_processes == 1:
        with _BackgroundThread() as executor:
            yield from _complete(executor.submit, function, jobs, 1)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_processes, context, initializer=_prepare_worker) as executor:
        try:
            yield from _complete(_deaf_to_ctrl_c(executor.submit), function, jobs, n_processes)
        except BrokenProcessPool as error:
            raise ElmldaError(
                "a worker process died, most likely for want of memory. What was recorded is safe: "
                "run the same command again, with fewer --jobs or a smaller --chunk."
            ) from error
        except BaseException:
            # Ctrl-C, or a job's own error: do not wait for the jobs under way.
            for process in list((executor._processes or {}).values()):
                process.kill()
            raise


def _complete(
    submit: Callable[..., Future[Result]],
    function: Callable[[Job], Result],
    jobs: Iterable[Job],
    n_under_way: int,
) -> Iterator[tuple[Job, Result]]:
    waiting = iter(jobs)
    under_way = {submit(function, job): job for job in islice(waiting, n_under_way)}
    while under_way:
        done, _ = wait(under_way, return_when=FIRST_COMPLETED)
        for future in done:
            job, result = under_way.pop(future), future.result()
            yield job, result
            # Only now: the caller has stored the result before the next job starts.
            under_way |= {submit(function, job): job for job in islice(waiting, 1)}


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


def _deaf_to_ctrl_c(submit: Callable[..., Future[Result]]) -> Callable[..., Future[Result]]:
    """Submitting may start a worker, which inherits what is blocked: Ctrl-C is the parent's."""

    def submit_blocked(*arguments: object) -> Future[Result]:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return submit(*arguments)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    return submit_blocked


def _prepare_worker() -> None:
    """Be deaf to Ctrl-C, and end when it ends, however that happens."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
