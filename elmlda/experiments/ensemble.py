"""Fig. 2: combining LDA-ELM networks by their posterior probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from elmlda.core.arrays import FloatArray, IntArray
from elmlda.core.evaluate import Combination, combine_posteriors, count_errors
from elmlda.errors import ElmldaError
from elmlda.execute.local import execute
from elmlda.experiments.experiment import Experiment
from elmlda.experiments.network_experiment import NetworkPlan, require_listable
from elmlda.experiments.options import read_sizes
from elmlda.experiments.own_options import EnsembleOptions
from elmlda.experiments.pairs import PairRecord, networks_of, whole_pairs
from elmlda.experiments.plan import NetworkPosteriors, Records, Step, Work
from elmlda.networks.jobs import run_job
from elmlda.networks.steps import resolve_priors
from elmlda.runs.plausible import require_plausible
from elmlda.runs.posteriors import PosteriorStore
from elmlda.settings import COMBINATIONS, NetworkJob


@dataclass(frozen=True)
class EnsembleRecord:
    """One row of ensemble.csv: test errors of the first `size` members of one ensemble."""

    FILE: ClassVar[str] = "ensemble.csv"
    EXPERIMENT: ClassVar[str] = "ensemble"
    FIXED: ClassVar[tuple[str, ...]] = ("n", "n_hidden")
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

    FILE: ClassVar[str] = "mistakes.csv"
    EXPERIMENT: ClassVar[str] = "ensemble"
    FIXED: ClassVar[tuple[str, ...]] = ("n", "n_hidden")
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


class EnsemblePlan(NetworkPlan["Ensemble", NetworkJob]):
    """Ensembles of networks: member i of repeat r is network r·n + i of the run."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return read_sizes(self.experiment.fanout, self.experiment.hidden, self.data.n_inputs)

    @property
    def n_hidden(self) -> int:
        return self.sizes[0]

    @property
    def fixed(self) -> dict[str, Any]:
        return {"n": self.experiment.n, "n_hidden": self.n_hidden}

    @property
    def extent(self) -> dict[str, Any]:
        return {"repeats": self.experiment.repeats, "combine": list(self.experiment.schemes)}

    def keys(self) -> list[tuple[int, int, str]]:
        return [
            (repeat, size, scheme)
            for repeat in range(self.experiment.repeats)
            for size in range(1, self.experiment.n + 1)
            for scheme in self.experiment.schemes
        ]

    def jobs(self, recorded: Collection[Any] = ()) -> list[NetworkJob]:
        """The networks of the repeats that are not recorded, their posteriors kept or not."""
        repeats = dict.fromkeys(key[0] for key in self.keys() if key not in recorded)
        return [job for repeat in repeats for job in self.members(repeat)]

    def members(self, repeat: int) -> list[NetworkJob]:
        """The networks of one repeat."""
        n = self.experiment.n
        return [self.make_job(index, self.sizes) for index in range(repeat * n, repeat * n + n)]

    def open_repeats(
        self, errors: Iterable[EnsembleRecord], mistakes: Iterable[MistakeRecord]
    ) -> list[int]:
        """Repeats that are not recorded in full, their mistakes included."""
        counts = {record.key: record.errors for record in errors}
        found = Counter(record.key[:-1] for record in mistakes)
        lacking = {key[0] for key in self.keys() if key not in counts}
        whole = [key for key in self.keys() if key[1] == self.experiment.n]
        lacking |= {key[0] for key in whole if found[key] != counts.get(key)}
        return sorted(lacking)

    def drop_incomplete(self, records: Records) -> Records:
        """All but the mistakes of a repeat that was cut off, which are found again."""
        mistakes = records[MistakeRecord]
        repeats = self.open_repeats(records[EnsembleRecord], mistakes)
        schemes = self.experiment.schemes
        whole = [m for m in mistakes if m.repeat not in repeats or m.combine not in schemes]
        return {**records, MistakeRecord: whole}

    def missing(self, records: Records, posteriors: PosteriorStore) -> list[NetworkJob]:
        """The members of open repeats whose posteriors are not kept."""
        repeats = self.open_repeats(records[EnsembleRecord], records[MistakeRecord])
        members = (job for repeat in repeats for job in self.members(repeat))
        return [job for job in members if posteriors.read(job.key, self.n_hidden) is None]

    def advise(self) -> ElmldaError | None:
        """Which size would use what a sweep has kept, if that is another one."""
        counts = Counter(self.posteriors.list_sizes())
        counts.pop(self.n_hidden, None)
        if not counts:
            return None
        kept = " and ".join(
            f"{n:,} networks of {self._name_size(size)}" for size, n in sorted(counts.items())
        )
        largest, n_kept = max(counts.items())
        n, fanout = min(self.experiment.n, n_kept), largest // self.data.n_inputs
        is_fanout = largest % self.data.n_inputs == 0
        return ElmldaError(
            f"Networks of {self._name_size(self.n_hidden)} will be trained; the posteriors that are "
            f"there are of {kept}.",
            "Use {} {n} {repeats} to combine those instead.",
            **{"fanout_": fanout} if is_fanout else {"hidden": largest},
            n=n,
            repeats=min(self.experiment.repeats, n_kept // n),
        )

    def _name_size(self, n_hidden: int) -> str:
        fanout, rest = divmod(n_hidden, self.data.n_inputs)
        return f"{n_hidden:,} hidden units" if rest else f"fan-out {fanout}"

    def count_jobs(self) -> int:
        return self.experiment.repeats * self.experiment.n

    def steps(self, work: Work[NetworkJob]) -> Iterator[Step]:
        """Pairs and repeats that are whole already, then each network and what becomes whole by it."""
        repeats = self.open_repeats(work.records[EnsembleRecord], work.records[MistakeRecord])
        lacking = {job.key for job in work.jobs}
        waiting = {repeat: {job.key for job in self.members(repeat)} & lacking for repeat in repeats}
        kept = work.posteriors
        there = set(kept.list_networks(self.n_hidden)) - {job.key[0] for job in work.jobs}
        recorded = {record.pair for record in work.records[PairRecord]}
        pairs = [pair for pair in whole_pairs(there) if pair not in recorded]
        yield Step(list(self._combine_pairs(pairs, kept)), n_done=0)
        for repeat in (repeat for repeat, keys in waiting.items() if not keys):
            yield Step(self._combine(repeat, kept), n_done=0)
        repeat_of = {key: repeat for repeat, keys in waiting.items() for key in keys}
        for job, result in execute(run_job, work.jobs, work.backend):
            yield Step(posteriors=NetworkPosteriors(job.key, self.n_hidden, result.posteriors))
            repeat, pair = repeat_of[job.key], job.key[0] // 2
            there.add(job.key[0])
            if there.issuperset(networks_of(pair)) and pair not in recorded:
                yield Step(list(self._combine_pairs([pair], kept)), n_done=0)
            waiting[repeat].discard(job.key)
            if not waiting[repeat]:
                yield Step(self._combine(repeat, kept), n_done=0)

    def _combine(self, repeat: int, kept: PosteriorStore) -> Sequence[EnsembleRecord | MistakeRecord]:
        """Every ensemble size and scheme of one repeat, from one pass over its members."""
        labels = self.dataset.test.labels
        counts = self.dataset.train.count_classes(self.data.n_classes)
        priors = resolve_priors(self.settings.priors, counts)
        records: list[EnsembleRecord | MistakeRecord] = []
        combinations = {scheme: Combination(scheme, priors) for scheme in self.experiment.schemes}
        for size, job in enumerate(self.members(repeat), start=1):
            member = kept.read(job.key, self.n_hidden)
            if member is None:
                raise ElmldaError(
                    f"posteriors of repeat {repeat} went away while they were needed. "
                    "Run the same command again."
                )
            for scheme, combination in combinations.items():
                combined = combination.add(member)
                errors = int(count_errors(combined, labels))
                records.append(EnsembleRecord(repeat, size, scheme, errors, len(labels)))
                if size == self.experiment.n:
                    records += _find_mistakes(repeat, size, scheme, combined, labels)
        return records

    def _combine_pairs(self, pairs: Iterable[int], kept: PosteriorStore) -> Iterator[PairRecord]:
        """The pairs whose posteriors can be read; others are left out."""
        labels = self.dataset.test.labels
        for pair in pairs:
            both = [
                kept.read(self.key(index, self.n_hidden), self.n_hidden) for index in networks_of(pair)
            ]
            members = [posteriors for posteriors in both if posteriors is not None]
            if len(members) == 2:
                mean = combine_posteriors(np.stack(members))[-1]
                errors = int(count_errors(mean, labels))
                yield PairRecord(pair, *networks_of(pair), errors, len(labels))


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


@dataclass(frozen=True, kw_only=True)
class Ensemble(EnsembleOptions, Experiment):
    """Fig. 2: LDA-ELM networks combined by their posterior probabilities, test errors counted."""

    name = "ensemble"
    record_types = (EnsembleRecord, MistakeRecord, PairRecord)
    plan_type = EnsemblePlan

    def __post_init__(self) -> None:
        super().__post_init__()
        require_listable(self.repeats, self.n)

    @property
    def schemes(self) -> tuple[str, ...]:
        """The ways of combining, in order."""
        return tuple(sorted({self.combine} if isinstance(self.combine, str) else set(self.combine)))
