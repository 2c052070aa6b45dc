"""Fig. 2: combining LDA-ELM networks by their posterior probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from elmlda.core.arrays import FloatArray, IntArray
from elmlda.core.evaluate import Combination, combine_posteriors, count_errors
from elmlda.errors import ElmldaError
from elmlda.experiments.command_options import EnsembleOptions
from elmlda.experiments.experiment import Experiment
from elmlda.experiments.groups import GroupPlan, Network, require_kept, require_listable
from elmlda.experiments.plan import Records, Step, Work
from elmlda.networks.steps import resolve_priors
from elmlda.runs.record import Record
from elmlda.settings import COMBINATIONS


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


class EnsemblePlan(GroupPlan["Ensemble"]):
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

    def groups(self, recorded: Collection[Any] = ()) -> list[int]:
        """Repeats, in order."""
        return sorted({key[0] for key in self.keys() if key not in recorded})

    def members(self, repeat: int) -> list[Network]:
        n = self.experiment.n
        return [Network(number, self.n_hidden) for number in range(repeat * n, repeat * n + n)]

    def open_groups(self, records: Records) -> list[int]:
        """Repeats whose errors are not recorded, or not all mistakes of the whole ensemble."""
        errors = {record.key: record.errors for record in records[EnsembleRecord]}
        mistakes = Counter(record.key[:-1] for record in records[MistakeRecord])
        whole = {
            key
            for key, n_errors in errors.items()
            if key[1] < self.experiment.n or mistakes[key] == n_errors
        }
        return self.groups(whole)

    def drop_incomplete(self, records: Records) -> Records:
        """All but the mistakes of a repeat that was cut off, which are found again."""
        repeats, schemes = self.open_groups(records), self.experiment.schemes
        mistakes = records[MistakeRecord]
        whole = [m for m in mistakes if m.repeat not in repeats or m.combine not in schemes]
        return {**records, MistakeRecord: whole}

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

    def steps(self, work: Work) -> Iterator[Step]:
        """Also the pairs of all networks that are kept, whoever trained them."""
        lacking = {job.key[0] for job in work.jobs}
        kept = set(self.posteriors.list_networks(self.n_hidden)) - lacking
        recorded = {record.pair for record in work.records[PairRecord]}
        pairs = sorted({number // 2 for number in kept} - recorded)
        yield Step([each for pair in pairs for each in self._combine_pair(pair, kept)], n_done=0)
        for step in super().steps(work):
            yield step
            if step.posteriors and (pair := step.posteriors.key[0] // 2) not in recorded:
                kept.add(step.posteriors.key[0])
                yield Step(list(self._combine_pair(pair, kept)), n_done=0)

    def combine(self, repeat: int) -> list[EnsembleRecord | MistakeRecord]:
        """Every ensemble size and scheme of one repeat, from one pass over its members."""
        labels = self.dataset.test.labels
        counts = self.dataset.train.count_classes(self.data.n_classes)
        priors = resolve_priors(self.settings.priors, counts)
        records: list[EnsembleRecord | MistakeRecord] = []
        combinations = {scheme: Combination(scheme, priors) for scheme in self.experiment.schemes}
        for size, network in enumerate(self.members(repeat), start=1):
            member = require_kept(self.read(network), f"posteriors of repeat {repeat}")
            for scheme, combination in combinations.items():
                combined = combination.add(member)
                errors = int(count_errors(combined, labels))
                records.append(EnsembleRecord(repeat, size, scheme, errors, len(labels)))
                if size == self.experiment.n:
                    records += _find_mistakes(repeat, size, scheme, combined, labels)
        return records

    def _combine_pair(self, pair: int, kept: set[int]) -> Iterator[PairRecord]:
        """The pair's record, if both networks are kept and can be read."""
        numbers = networks_of(pair)
        if not kept.issuperset(numbers):
            return
        both = [self.read(Network(number, self.n_hidden)) for number in numbers]
        members, labels = [each for each in both if each is not None], self.dataset.test.labels
        if len(members) == 2:
            errors = int(count_errors(combine_posteriors(np.stack(members))[-1], labels))
            yield PairRecord(pair, *numbers, errors, len(labels))


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
