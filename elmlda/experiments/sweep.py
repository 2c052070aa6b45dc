"""Table 1 and Fig. 1: PI-ELM and LDA-ELM on the same input weights, over fan-outs and repeats."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from elmlda.execute import execute
from elmlda.network import NetworkResult, run_job
from elmlda.settings import DatasetRef, NetworkJob, NetworkSettings, Resources, network_key

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
    jobs: Iterable[NetworkJob], n_inputs: int, n_processes: int = 1
) -> Iterator[tuple[NetworkJob, NetworkResult, list[SweepRecord]]]:
    """Each network as it finishes, with its records."""
    for job, result in execute(run_job, jobs, n_processes):
        yield job, result, _records(job, result, n_inputs)


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
