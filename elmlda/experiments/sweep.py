"""Table 1 and Fig. 1: PI-ELM and LDA-ELM on the same input weights, over fan-outs and repeats."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from elmlda.core.statistics import Statistics
from elmlda.execute.local import Place, Workers, execute, open_place
from elmlda.networks.cost import predict_waiting_bytes
from elmlda.networks.jobs import accumulate_block, finish_job, load_job_data, run_job
from elmlda.networks.train import (
    NetworkResult,
    Readout,
    in_enough_precision,
    predict_double_bytes,
)
from elmlda.runs.plausible import require_plausible
from elmlda.settings import (
    PRECISIONS,
    DatasetRef,
    NetworkJob,
    NetworkSettings,
    Resources,
    RowBlockJob,
    network_key,
)

FILE = "sweep.csv"


@dataclass(frozen=True)
class SweepRecord:
    """One row of sweep.csv: both methods' test errors at one hidden size of one network."""

    repeat: int
    fanout: float
    """Hidden units for each input; not whole if the sizes were given as hidden units."""
    n_hidden: int
    pi_errors: int
    pi_constant_errors: int
    lda_errors: int
    n_test: int
    seconds: float
    """Of the whole network: in the nested design the same for all its sizes."""
    precision: str

    def __post_init__(self) -> None:
        counts = ("pi_errors", "pi_constant_errors", "lda_errors")
        require_plausible(
            self,
            positive=("fanout", "n_hidden", "n_test"),
            at_most=dict.fromkeys(counts, self.n_test),
            one_of={"precision": PRECISIONS},
        )

    @property
    def key(self) -> tuple[int, int]:
        return self.repeat, self.n_hidden


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep is to compute."""

    dataset: DatasetRef
    n_inputs: int
    sizes: tuple[int, ...]
    repeats: int
    seed: int
    design: str
    settings: NetworkSettings
    resources: Resources

    def jobs(self, recorded: Collection[tuple[int, int]] = ()) -> list[NetworkJob]:
        """The networks that are needed for what is not recorded yet, as (repeat, n_hidden)."""
        return [
            NetworkJob(self.dataset, self.seed, key, sizes, self.settings, self.resources)
            for repeat in range(self.repeats)
            for key, sizes in self._networks(
                repeat, tuple(size for size in self.sizes if (repeat, size) not in recorded)
            )
        ]

    def _networks(
        self, repeat: int, sizes: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Spawn key and sizes of the networks of one repeat."""
        together = [sizes] if self.design == "nested" else [(size,) for size in sizes]
        for network in filter(None, together):
            yield network_key(self.design, repeat, network[-1], self.n_inputs), network


def run_sweep(
    jobs: Iterable[NetworkJob], n_inputs: int, place: Place | int = 1, n_blocks: int = 1
) -> Iterator[tuple[NetworkJob, NetworkResult, list[SweepRecord]]]:
    """Each network as it finishes, with its records.

    Parameters
    ----------
    n_blocks : into how many blocks of rows the training data are split; if there are several, the
        workers share each network, and networks follow one another
    """
    if n_blocks == 1:
        results = execute(run_job, jobs, place)
    else:
        results = _run_split(list(jobs), n_blocks, place)
    for job, result in results:
        yield job, result, _records(job, result, n_inputs)


def _run_split(
    jobs: Sequence[NetworkJob], n_blocks: int, place: Place | int
) -> Iterator[tuple[NetworkJob, NetworkResult]]:
    if not jobs:
        return
    with open_place(place) as workers:
        for job in jobs:
            start = time.perf_counter()
            result = _share(job, n_blocks, workers)
            yield job, replace(result, seconds=time.perf_counter() - start)


def _share(job: NetworkJob, n_blocks: int, workers: Workers) -> NetworkResult:
    """One network whose statistics the workers accumulate, each of some of the samples."""

    def share(settings: NetworkSettings) -> NetworkResult:
        whole = replace(job, settings=settings)
        blocks = [RowBlockJob(**vars(whole), block=i, n_blocks=n_blocks) for i in range(n_blocks)]
        return workers.reduce(accumulate_block, blocks, Statistics.plus, finish_job, whole)

    n_hidden, readout = job.sizes[-1], Readout(job.sizes, job.settings.ridge)
    double_bytes = predict_double_bytes(
        load_job_data(job.dataset), [readout], job.resources.chunk
    ) + predict_waiting_bytes(n_blocks, 8, n_hidden)
    return in_enough_precision(share, job.settings, n_hidden, double_bytes, workers.free_bytes)


def _records(job: NetworkJob, result: NetworkResult, n_inputs: int) -> list[SweepRecord]:
    return [
        SweepRecord(
            repeat=job.key[0],
            fanout=size / n_inputs,
            n_hidden=size,
            pi_errors=result.pi_errors[i],
            pi_constant_errors=result.pi_constant_errors[i],
            lda_errors=result.lda_errors[i],
            n_test=result.n_test,
            seconds=result.seconds,
            precision=result.precision,
        )
        for i, size in enumerate(result.sizes)
    ]
