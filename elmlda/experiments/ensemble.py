"""Fig. 2: combining LDA-ELM networks by their posterior probabilities."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from elmlda.arrays import FloatArray, IntArray
from elmlda.errors import ElmldaError
from elmlda.evaluate import combine_posteriors, count_errors
from elmlda.execute import execute
from elmlda.network import run_job
from elmlda.settings import DatasetRef, NetworkJob, NetworkSettings, Resources, network_key
from elmlda.store import PosteriorStore

FILE = "ensemble.csv"


@dataclass(frozen=True)
class EnsembleRecord:
    """One row of ensemble.csv: test errors of the first `size` members of one ensemble."""

    repeat: int
    size: int
    combine: str
    errors: int
    n_test: int

    @property
    def key(self) -> tuple[int, int, str]:
        return self.repeat, self.size, self.combine


@dataclass(frozen=True)
class EnsemblePlan:
    """What an ensemble experiment is to compute: member i of repeat r is network r·n + i."""

    dataset: DatasetRef
    n_inputs: int
    n_hidden: int
    n_members: int
    repeats: int
    combine: tuple[str, ...]
    seed: int
    design: str
    settings: NetworkSettings
    resources: Resources

    def job(self, index: int) -> NetworkJob:
        """Network `index` of the run."""
        key = network_key(self.design, index, self.n_hidden, self.n_inputs)
        return NetworkJob(self.dataset, self.seed, key, (self.n_hidden,), self.settings, self.resources)

    def members(self, repeat: int) -> list[NetworkJob]:
        """The networks of one repeat."""
        first = repeat * self.n_members
        return [self.job(index) for index in range(first, first + self.n_members)]

    def open_repeats(self, recorded: Collection[tuple[int, int, str]]) -> list[int]:
        """Repeats that are not recorded in full."""
        sizes = range(1, self.n_members + 1)
        return [
            repeat
            for repeat in range(self.repeats)
            if any((repeat, size, c) not in recorded for size in sizes for c in self.combine)
        ]


def find_missing(plan: EnsemblePlan, repeats: Iterable[int], kept: PosteriorStore) -> list[NetworkJob]:
    """The members of these repeats whose posteriors are not kept."""
    members = (job for repeat in repeats for job in plan.members(repeat))
    return [job for job in members if kept.read(job.key, plan.n_hidden) is None]


def run_ensemble(
    plan: EnsemblePlan,
    repeats: Iterable[int],
    missing: Collection[NetworkJob],
    kept: PosteriorStore,
    labels: IntArray,
    priors: FloatArray,
    n_processes: int = 1,
) -> Iterator[tuple[int, list[EnsembleRecord]]]:
    """The number of networks just trained (0 or 1), and the records that became complete by it."""
    waiting = {repeat: {job.key for job in plan.members(repeat)} for repeat in repeats}
    lacking = {job.key for job in missing}
    for repeat, keys in waiting.items():
        keys &= lacking
        if not keys:
            yield 0, _combine(plan, repeat, kept, labels, priors)
    repeat_of = {key: repeat for repeat, keys in waiting.items() for key in keys}
    for job, result in execute(run_job, missing, n_processes):
        kept.write(job.key, plan.n_hidden, result.posteriors)
        repeat = repeat_of[job.key]
        waiting[repeat].discard(job.key)
        yield 1, [] if waiting[repeat] else _combine(plan, repeat, kept, labels, priors)


def _combine(
    plan: EnsemblePlan, repeat: int, kept: PosteriorStore, labels: IntArray, priors: FloatArray
) -> list[EnsembleRecord]:
    """Every ensemble size and scheme of one repeat, from one pass over its members."""
    stored = [kept.read(job.key, plan.n_hidden) for job in plan.members(repeat)]
    members = np.stack([posteriors for posteriors in stored if posteriors is not None])
    if len(members) < plan.n_members:
        raise ElmldaError(
            f"posteriors of repeat {repeat} went away while they were needed. "
            "Run the same command again."
        )
    records = []
    for scheme in plan.combine:
        combined = combine_posteriors(members, scheme, priors)
        errors = count_errors(combined.swapaxes(0, 1), labels)
        records += [
            EnsembleRecord(repeat, size, scheme, int(count), len(labels))
            for size, count in enumerate(errors, start=1)
        ]
    return records
