"""Fig. 2: combining LDA-ELM networks by their posterior probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from elmlda.core.arrays import FloatArray, IntArray
from elmlda.core.evaluate import Combination, combine_posteriors, count_errors
from elmlda.errors import ElmldaError
from elmlda.execute.local import execute
from elmlda.experiments.experiment import Experiment
from elmlda.experiments.own_options import EnsembleOptions
from elmlda.experiments.plan import (
    NetworkPlan,
    NetworkPosteriors,
    Records,
    Step,
    Work,
    pop_whole,
    require_kept,
    require_listable,
)
from elmlda.networks.jobs import run_job
from elmlda.networks.steps import resolve_priors
from elmlda.runs.record import Record
from elmlda.settings import COMBINATIONS, NetworkJob


@dataclass(frozen=True)
class EnsembleRecord(Record):
    """One row of ensemble.csv: test errors of the first `size` members of one ensemble."""

    FILE, EXPERIMENT, FIXED = "ensemble.csv", "ensemble", ("n", "n_hidden")
    KEY = ("repeat", "size", "combine")
    POSITIVE = ("size", "n_test")
    AT_MOST: ClassVar = {"errors": "n_test"}
    ONE_OF: ClassVar = {"combine": COMBINATIONS}
    repeat: int
    size: int
    combine: str
    errors: int
    n_test: int


@dataclass(frozen=True)
class MistakeRecord(Record):
    """One row of mistakes.csv: a test sample that the whole ensemble of a repeat gets wrong."""

    FILE, EXPERIMENT, FIXED = "mistakes.csv", "ensemble", ("n", "n_hidden")
    KEY = ("repeat", "size", "combine", "sample")
    POSITIVE = ("size",)
    AT_MOST: ClassVar = dict.fromkeys(("posterior", "label_posterior"), 1 + 1e-6)  # of rounding
    ONE_OF: ClassVar = {"combine": COMBINATIONS}
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
        super().__post_init__()
        if self.label == self.chosen:
            raise ValueError(f"label and chosen are both {self.label}, expected a mistake")


@dataclass(frozen=True)
class PairRecord(Record):
    """One row of pairs.csv: test errors of two networks' mean posteriors.

    Pairs are disjoint, of those networks whose posteriors a run has kept.
    """

    FILE, EXPERIMENT, FIXED = "pairs.csv", "ensemble", ("n", "n_hidden")
    KEY = ("pair",)
    POSITIVE = ("second", "n_test")
    AT_MOST: ClassVar = {"errors": "n_test"}
    pair: int
    first: int
    """Network 2·pair of the run."""
    second: int
    """Network 2·pair + 1."""
    errors: int
    n_test: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.first, self.second) != networks_of(self.pair):
            raise ValueError(f"pair {self.pair} is not of networks {self.first} and {self.second}")


def networks_of(pair: int) -> tuple[int, int]:
    """The two networks of a pair: no other pair has them."""
    return 2 * pair, 2 * pair + 1


class EnsemblePlan(NetworkPlan["Ensemble"]):
    """Ensembles of networks: member i of repeat r is network r·n + i of the run."""

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
        return self._train(number for repeat in repeats for number in self.members(repeat))

    def members(self, repeat: int) -> range:
        """Numbers of the networks of one repeat."""
        return range(repeat * self.experiment.n, (repeat + 1) * self.experiment.n)

    def _train(self, numbers: Iterable[int]) -> list[NetworkJob]:
        return self.make_jobs((number, self.n_hidden) for number in numbers)

    def open_repeats(self, records: Records) -> list[int]:
        """Repeats that are not recorded in full, their mistakes included."""
        errors = {record.key: record.errors for record in records[EnsembleRecord]}
        mistakes = Counter(record.key[:-1] for record in records[MistakeRecord])
        lacking = {
            key[0]
            for key in self.keys()
            if key not in errors or (key[1] == self.experiment.n and mistakes[key] != errors[key])
        }
        return sorted(lacking)

    def drop_incomplete(self, records: Records) -> Records:
        """All but the mistakes of a repeat that was cut off, which are found again."""
        repeats, schemes = self.open_repeats(records), self.experiment.schemes
        mistakes = records[MistakeRecord]
        whole = [m for m in mistakes if m.repeat not in repeats or m.combine not in schemes]
        return {**records, MistakeRecord: whole}

    def missing(self, records: Records) -> list[NetworkJob]:
        """The members of open repeats whose posteriors are not kept."""
        numbers = (number for repeat in self.open_repeats(records) for number in self.members(repeat))
        return self._train(number for number in numbers if self._read(number) is None)

    def _read(self, number: int) -> FloatArray | None:
        """What is kept of a network of the run."""
        return self.posteriors.read(self.key(number, self.n_hidden), self.n_hidden)

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

    def steps(self, work: Work) -> Iterator[Step]:
        """Pairs and repeats that are whole already, then each network and what becomes whole by it."""
        lacking = {job.key[0] for job in work.jobs}
        kept = set(self.posteriors.list_networks(self.n_hidden)) - lacking
        recorded = {record.pair for record in work.records[PairRecord]}
        pairs = sorted({number // 2 for number in kept} - recorded)
        yield Step([each for pair in pairs for each in self._combine_pair(pair, kept)], n_done=0)
        waiting = {
            repeat: lacking.intersection(self.members(repeat))
            for repeat in self.open_repeats(work.records)
        }
        for repeat in pop_whole(waiting):
            yield Step(self._combine(repeat), n_done=0)
        for job, result in execute(run_job, work.jobs, work.backend):
            number = job.key[0]
            yield Step(posteriors=NetworkPosteriors(job.key, self.n_hidden, result.posteriors))
            kept.add(number)
            if number // 2 not in recorded:
                yield Step(list(self._combine_pair(number // 2, kept)), n_done=0)
            for repeat in pop_whole(waiting, [number]):
                yield Step(self._combine(repeat), n_done=0)

    def _combine(self, repeat: int) -> Sequence[EnsembleRecord | MistakeRecord]:
        """Every ensemble size and scheme of one repeat, from one pass over its members."""
        labels = self.dataset.test.labels
        counts = self.dataset.train.count_classes(self.data.n_classes)
        priors = resolve_priors(self.settings.priors, counts)
        records: list[EnsembleRecord | MistakeRecord] = []
        combinations = {scheme: Combination(scheme, priors) for scheme in self.experiment.schemes}
        for size, number in enumerate(self.members(repeat), start=1):
            member = require_kept(self._read(number), f"posteriors of repeat {repeat}")
            for scheme, combination in combinations.items():
                combined = combination.add(member)
                errors = int(count_errors(combined, labels))
                records.append(EnsembleRecord(repeat, size, scheme, errors, len(labels)))
                if size == self.experiment.n:
                    records += _find_mistakes(repeat, size, scheme, combined, labels)
        return records

    def _combine_pair(self, pair: int, kept: Collection[int]) -> Iterator[PairRecord]:
        """The pair's record, if both networks are kept and can be read."""
        if not all(number in kept for number in networks_of(pair)):
            return
        labels, both = self.dataset.test.labels, map(self._read, networks_of(pair))
        members = [posteriors for posteriors in both if posteriors is not None]
        if len(members) == 2:
            errors = int(count_errors(combine_posteriors(np.stack(members))[-1], labels))
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
