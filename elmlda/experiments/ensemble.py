"""Fig. 2: combining LDA-ELM networks by their posterior probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from elmlda.core.arrays import FloatArray, IntArray
from elmlda.core.evaluate import combine_posteriors, count_errors
from elmlda.errors import ElmldaError
from elmlda.execute.local import Place, execute
from elmlda.experiments.pairs import PairRecord, networks_of, whole_pairs
from elmlda.networks.jobs import run_job
from elmlda.runs.plausible import require_plausible
from elmlda.runs.posteriors import PosteriorStore
from elmlda.settings import (
    COMBINATIONS,
    DatasetRef,
    NetworkJob,
    NetworkSettings,
    Resources,
    network_key,
)

FILE = "ensemble.csv"
MISTAKES_FILE = "mistakes.csv"


@dataclass(frozen=True)
class EnsembleRecord:
    """One row of ensemble.csv: test errors of the first `size` members of one ensemble."""

    repeat: int
    size: int
    combine: str
    errors: int
    n_test: int

    def __post_init__(self) -> None:
        require_plausible(
            self,
            positive=("size", "n_test"),
            at_most={"errors": self.n_test},
            one_of={"combine": COMBINATIONS},
        )

    @property
    def key(self) -> tuple[int, int, str]:
        return self.repeat, self.size, self.combine


@dataclass(frozen=True)
class MistakeRecord:
    """One row of mistakes.csv: a test sample that the whole ensemble of a repeat gets wrong."""

    repeat: int
    size: int
    combine: str
    sample: int
    """Its place in the test set, from 0."""
    label: int
    chosen: int
    posterior: float
    """The combined one of the class that was chosen."""
    label_posterior: float
    """The combined one of the class that is right."""

    def __post_init__(self) -> None:
        most = 1 + 1e-6  # rounding of the average
        require_plausible(
            self,
            positive=("size",),
            at_most={"posterior": most, "label_posterior": most},
            one_of={"combine": COMBINATIONS},
        )
        if self.label == self.chosen:
            raise ValueError(f"label and chosen are both {self.label}, expected a mistake")

    @property
    def key(self) -> tuple[int, int, str, int]:
        return self.repeat, self.size, self.combine, self.sample


@dataclass(frozen=True)
class EnsembleRecords:
    """What has become known: a repeat's errors at every size by every scheme, and pairs of networks."""

    errors: list[EnsembleRecord] = field(default_factory=list)
    mistakes: list[MistakeRecord] = field(default_factory=list)
    pairs: list[PairRecord] = field(default_factory=list)


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

    def open_repeats(
        self, errors: Iterable[EnsembleRecord], mistakes: Iterable[MistakeRecord]
    ) -> list[int]:
        """Repeats that are not recorded in full, their mistakes included."""
        counts = {record.key: record.errors for record in errors}
        found = Counter(record.key[:-1] for record in mistakes)
        return [
            repeat
            for repeat in range(self.repeats)
            if any(
                (repeat, size, scheme) not in counts
                for size in range(1, self.n_members + 1)
                for scheme in self.combine
            )
            or any(
                found[repeat, self.n_members, scheme] != counts[repeat, self.n_members, scheme]
                for scheme in self.combine
            )
        ]


def find_missing(plan: EnsemblePlan, repeats: Iterable[int], kept: PosteriorStore) -> list[NetworkJob]:
    """The members of these repeats whose posteriors are not kept."""
    members = (job for repeat in repeats for job in plan.members(repeat))
    return [job for job in members if kept.read(job.key, plan.n_hidden) is None]


def run_ensemble(
    plan: EnsemblePlan,
    repeats: Iterable[int],
    missing: Collection[NetworkJob],
    recorded_pairs: Collection[tuple[int]],
    kept: PosteriorStore,
    labels: IntArray,
    priors: FloatArray,
    place: Place | int = 1,
) -> Iterator[tuple[int, EnsembleRecords]]:
    """The number of networks just trained (0 or 1), and what became complete by it, if anything.

    Pairs are of all networks that are kept, also beyond the plan's repeats.
    """
    waiting = {repeat: {job.key for job in plan.members(repeat)} for repeat in repeats}
    lacking = {job.key for job in missing}
    trusted = set(kept.list_networks(plan.n_hidden)) - {job.key[0] for job in missing}
    there = [pair for pair in whole_pairs(trusted) if (pair,) not in recorded_pairs]
    yield 0, EnsembleRecords(pairs=list(_combine_pairs(plan, there, kept, labels)))
    for repeat, keys in waiting.items():
        keys &= lacking
        if not keys:
            yield 0, _combine(plan, repeat, kept, labels, priors)
    repeat_of = {key: repeat for repeat, keys in waiting.items() for key in keys}
    for job, result in execute(run_job, missing, place):
        kept.write(job.key, plan.n_hidden, result.posteriors)
        repeat, pair = repeat_of[job.key], job.key[0] // 2
        waiting[repeat].discard(job.key)
        trusted.add(job.key[0])
        records = EnsembleRecords() if waiting[repeat] else _combine(plan, repeat, kept, labels, priors)
        if trusted.issuperset(networks_of(pair)) and (pair,) not in recorded_pairs:
            records.pairs.extend(_combine_pairs(plan, [pair], kept, labels))
        yield 1, records


def _combine(
    plan: EnsemblePlan, repeat: int, kept: PosteriorStore, labels: IntArray, priors: FloatArray
) -> EnsembleRecords:
    """Every ensemble size and scheme of one repeat, from one pass over its members."""
    stored = [kept.read(job.key, plan.n_hidden) for job in plan.members(repeat)]
    members = np.stack([posteriors for posteriors in stored if posteriors is not None])
    if len(members) < plan.n_members:
        raise ElmldaError(
            f"posteriors of repeat {repeat} went away while they were needed. "
            "Run the same command again."
        )
    records = EnsembleRecords()
    for scheme in plan.combine:
        combined = combine_posteriors(members, scheme, priors)
        errors = count_errors(combined.swapaxes(0, 1), labels)
        records.errors.extend(
            EnsembleRecord(repeat, size, scheme, int(count), len(labels))
            for size, count in enumerate(errors, start=1)
        )
        records.mistakes.extend(_find_mistakes(repeat, plan.n_members, scheme, combined[-1], labels))
    return records


def _combine_pairs(
    plan: EnsemblePlan, pairs: Iterable[int], kept: PosteriorStore, labels: IntArray
) -> Iterator[PairRecord]:
    """The pairs whose posteriors can be read; others are left out."""
    for pair in pairs:
        both = [kept.read(plan.job(index).key, plan.n_hidden) for index in networks_of(pair)]
        members = [posteriors for posteriors in both if posteriors is not None]
        if len(members) == 2:
            mean = combine_posteriors(np.stack(members))[-1]
            yield PairRecord(pair, *networks_of(pair), int(count_errors(mean, labels)), len(labels))


def _find_mistakes(
    repeat: int, size: int, scheme: str, posteriors: FloatArray, labels: IntArray
) -> Iterator[MistakeRecord]:
    chosen = posteriors.argmax(axis=1)
    for i in np.flatnonzero(chosen != labels):
        truth, choice = int(labels[i]), int(chosen[i])
        yield MistakeRecord(
            repeat, size, scheme, int(i), truth, choice,
            float(posteriors[i, choice]), float(posteriors[i, truth]),
        )  # fmt: skip
