"""PI-ELM and LDA-ELM, each at its own setting, on several kinds of input weights.

Network r of a kind has the same random numbers for both methods, whatever their settings. Each method's
networks of its best kind also make ensembles: member i of ensemble r is network r·n + i. LDA-ELM is
combined by the mean of its posteriors; PI-ELM, which has none, by the mean of its scores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elmlda.core.arrays import FloatArray
from elmlda.core.evaluate import posteriors, require_posteriors, round_posteriors
from elmlda.errors import ElmldaError
from elmlda.execute.local import execute
from elmlda.experiments.experiment import Experiment
from elmlda.experiments.groups import pop_whole, require_kept
from elmlda.experiments.plan import Records, Step, Work, note_double, require_possible
from elmlda.experiments.selection import METHODS
from elmlda.experiments.tune import RidgesPlan, with_weight_size
from elmlda.networks.jobs import job_generator, load_job_data
from elmlda.networks.train import Readout, train_network
from elmlda.runs.posteriors import PosteriorStore
from elmlda.runs.record import Record
from elmlda.settings import INPUT_WEIGHTS, PRECISIONS, NetworkJob, NetworkSettings

FIRST_REPEATS = 3
"""Networks of every kind that come first: enough for an interval."""


class Setting(NamedTuple):
    """What one method's networks with one kind of input weights are made with."""

    input_weights: str
    method: str
    weight_size: float
    """The norm of each unit's weights; of uniform weights, their range."""
    ridge: float


@dataclass(frozen=True)
class Tested(Record):
    """Test errors of a classifier."""

    EXPERIMENT = "shaped"
    KEY: ClassVar[tuple[str, ...]] = (*Setting._fields, "repeat", "n_hidden")
    POSITIVE: ClassVar[tuple[str, ...]] = ("weight_size", "n_hidden", "n_test")
    AT_MOST: ClassVar = {"errors": "n_test"}
    ONE_OF: ClassVar = {"input_weights": INPUT_WEIGHTS, "method": METHODS}
    input_weights: str
    method: str
    weight_size: float
    ridge: float
    repeat: int
    n_hidden: int
    errors: int
    n_test: int
    wrong: str
    """Places of the test samples that it gets wrong, from 0, of the largest classifiers only."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.wrong and (len(self.places) != self.errors or max(self.places) >= self.n_test):
            raise ValueError(
                f"wrong has {len(self.places)} places, expected {self.errors} below {self.n_test}"
            )

    @property
    def places(self) -> set[int]:
        """Of the test samples that it gets wrong."""
        return {int(word) for word in self.wrong.split()}

    @property
    def has_places(self) -> bool:
        return len(self.places) == self.errors

    @property
    def setting(self) -> Setting:
        return Setting(self.input_weights, self.method, self.weight_size, self.ridge)


@dataclass(frozen=True)
class ShapedRecord(Tested):
    """One row of networks.csv: one method at one hidden size of one network."""

    FILE = "networks.csv"
    POSITIVE = (*Tested.POSITIVE, "fanout")
    ONE_OF: ClassVar = {**Tested.ONE_OF, "precision": PRECISIONS}
    fanout: float
    seconds: float
    """Of the whole network, for all its sizes and methods."""
    precision: str


@dataclass(frozen=True)
class ShapedEnsembleRecord(Tested):
    """One row of ensembles.csv: the first `size` members of one ensemble."""

    FILE, FIXED = "ensembles.csv", ("n",)
    KEY = (*Tested.KEY, "size")
    POSITIVE = (*Tested.POSITIVE, "size")
    size: int


Network = tuple[Setting, int]
"""A setting, and the number of a network or of an ensemble."""


@dataclass(frozen=True, kw_only=True)
class ShapedJob(NetworkJob):
    """One network for one method, or for both if they have the same weights."""

    tested: tuple[Setting, ...]

    @property
    def ridges(self) -> list[float]:
        """Ascending."""
        return sorted({setting.ridge for setting in self.tested})


class ShapedResult(NamedTuple):
    """The result of a network."""

    records: list[ShapedRecord]
    outputs: dict[Setting, FloatArray]
    """At the largest size, n_test × n_classes in float32: posteriors, or PI-ELM's scores."""


def run_job(job: ShapedJob) -> ShapedResult:
    """Train the job's network and test its methods, in this process."""
    dataset, found = load_job_data(job.dataset), ShapedResult([], {})
    readouts = [Readout(job.sizes, ridge) for ridge in job.ridges]
    methods = [setting.method for setting in job.tested]
    trained = train_network(dataset, job_generator(job), readouts, job.settings, job.resources, methods)
    labels, largest = dataset.test.labels, job.sizes[-1]
    for setting in job.tested:
        scored = trained.readouts[job.ridges.index(setting.ridge)]
        last = scored.scores[setting.method][:, -1]
        wrong = list_places(last.argmax(axis=1) != labels)
        outputs = round_posteriors(posteriors(last)) if setting.method == "lda" else last
        found.outputs[setting] = outputs.astype(np.float32)
        for size, errors in zip(job.sizes, scored.errors(setting.method, labels), strict=True):
            record = ShapedRecord(
                *setting, job.key[0], size, errors, len(labels), wrong if size == largest else "",
                size / dataset.n_inputs, trained.seconds, trained.precision,
            )  # fmt: skip
            found.records.append(record)
    return found


def list_places(is_wrong: NDArray[np.bool_]) -> str:
    """The places of test samples, from 0, with blanks between."""
    return " ".join(map(str, np.flatnonzero(is_wrong)))


class ShapedPlan(RidgesPlan["ShapedNetworks"]):
    """Networks of every setting, few of all before many of the best."""

    varied = frozenset({"ridge", "weight_norm", "weight_range", "input_weights"})

    @property
    def ridges(self) -> list[float]:
        return [setting.ridge for setting in self.experiment.chosen]

    @property
    def design(self) -> str:
        is_supposed = self.experiment.is_supposed
        return "at most, before settings are chosen; nested" if is_supposed else "nested"

    @property
    def fixed(self) -> dict[str, Any]:
        return {"n": self.experiment.n}

    @property
    def extent(self) -> dict[str, Any]:
        """The grid as it was before it was widened, too."""
        experiment = self.experiment
        return {
            "input_weights": sorted({setting.input_weights for setting in experiment.chosen}),
            "repeats": experiment.repeats,
            "ensembles": experiment.ensembles,
            "n_hidden": self.sizes,
            **{f"first_{name}": values for name, values in experiment.grid.items()},
        }

    def check(self) -> None:
        for setting in self.experiment.chosen:
            drawn = replace(self.settings, input_weights=setting.input_weights, ridge=setting.ridge)
            require_possible(self.dataset, drawn, self.sizes[-1])

    def networks(self, recorded: Collection[Any] = ()) -> set[Network]:
        """Those that are not recorded at every size, members of ensembles among them."""
        asked = self.experiment
        n_combined = max(asked.repeats, asked.n * asked.ensembles)
        return {
            (setting, repeat)
            for setting in asked.chosen
            for repeat in range(n_combined if setting in asked.combined else asked.repeats)
            if not all((*setting, repeat, size) in recorded for size in self.sizes)
        }

    def keys(self) -> list[tuple[Any, ...]]:
        return [(*setting, repeat, n) for setting, repeat in self.networks() for n in self.sizes]

    def jobs(self, recorded: Collection[Any] = ()) -> list[ShapedJob]:
        return self._list_jobs(self.networks(recorded))

    def missing(self, records: Records) -> list[ShapedJob]:
        """Also the members of ensembles that are not recorded whose outputs are not kept."""
        wanted = self.networks({record.key for record in records[ShapedRecord]})
        for ensemble in self.open_ensembles(records):
            members = self.members(*ensemble) - wanted
            wanted |= {member for member in members if self._read(*member) is None}
        return self._list_jobs(wanted)

    def _list_jobs(self, wanted: Iterable[Network]) -> list[ShapedJob]:
        """Networks in the order of `_stage`; methods with the same weights share one."""
        together: dict[tuple[int, str, float], list[Setting]] = {}
        for setting, repeat in wanted:
            key = repeat, setting.input_weights, setting.weight_size
            together.setdefault(key, []).append(setting)
        order = sorted(together, key=lambda key: (self._stage(key[0], together[key]), *key))
        return [self._job(key[0], tuple(sorted(together[key]))) for key in order]

    def _stage(self, repeat: int, settings: list[Setting]) -> int:
        """Order of training: a few networks of all kinds, the first ensembles, the rest of both."""
        if repeat < FIRST_REPEATS:
            return 0
        is_combined = not set(settings).isdisjoint(self.experiment.combined)
        if is_combined and repeat < self.experiment.n:
            return 1
        return 2 if repeat < self.experiment.repeats else 3

    def _job(self, repeat: int, tested: tuple[Setting, ...]) -> ShapedJob:
        kind, _, size, _ = tested[0]
        ridges = [setting.ridge for setting in tested]
        drawn = replace(self.settings, input_weights=kind, ridge=min(ridges))
        return ShapedJob(
            self.ref, self.experiment.seed, (repeat,), self.sizes,
            self.choose_precision(with_weight_size(drawn, size), ridges), self.resources, tested=tested,
        )  # fmt: skip

    def members(self, setting: Setting, ensemble: int) -> set[Network]:
        """An ensemble's networks."""
        n = self.experiment.n
        return {(setting, member) for member in range(ensemble * n, ensemble * n + n)}

    def open_ensembles(self, records: Records) -> list[Network]:
        """Those that are not recorded in full."""
        recorded = {record.key for record in records[ShapedEnsembleRecord]}
        return [
            (setting, repeat)
            for repeat in range(self.experiment.ensembles)
            for setting in self.experiment.combined
            if (*setting, repeat, self.sizes[-1], self.experiment.n) not in recorded
        ]

    def drop_incomplete(self, records: Records) -> Records:
        """All but a part of an ensemble, which is combined again."""
        parts = {(*each, repeat, self.sizes[-1]) for each, repeat in self.open_ensembles(records)}
        whole = [r for r in records[ShapedEnsembleRecord] if r.key[:-1] not in parts]
        return {**records, ShapedEnsembleRecord: whole}

    def steps(self, work: Work) -> Iterator[Step]:
        """Ensembles that are whole already, then each network and what becomes whole by it."""
        lacking = {(setting, job.key[0]) for job in work.jobs for setting in job.tested}
        ensembles = self.open_ensembles(work.records)
        waiting = {ensemble: self.members(*ensemble) & lacking for ensemble in ensembles}
        for ensemble in pop_whole(waiting):
            yield Step(list(self._combine(*ensemble)), n_done=0)
        for job, (records, outputs) in execute(run_job, work.jobs, work.backend):
            number = job.key[0]
            for setting, of_setting in outputs.items():
                if (setting, number // self.experiment.n) in waiting:
                    self._store(setting).write(output_key(setting, number), self.sizes[-1], of_setting)
            yield Step(records, note=note_double(number, records[0].precision, job.settings))
            for ensemble in pop_whole(waiting, [(setting, number) for setting in outputs]):
                yield Step(list(self._combine(*ensemble)), n_done=0)

    def _store(self, setting: Setting) -> PosteriorStore:
        """The stored outputs of the setting's networks, for ensembles."""
        require = require_posteriors if setting.method == "lda" else require_finite
        identity, shape = {**self.identity, **setting._asdict()}, self.dataset.test.labels.shape
        return PosteriorStore(self.folder, identity, (*shape, self.data.n_classes), require)

    def _read(self, setting: Setting, member: int) -> FloatArray | None:
        return self._store(setting).read(output_key(setting, member), self.sizes[-1])

    def _combine(self, setting: Setting, ensemble: int) -> Iterator[ShapedEnsembleRecord]:
        """Every size of one ensemble, from one pass over its members."""
        labels, n_hidden = self.dataset.test.labels, self.sizes[-1]
        total: FloatArray = np.zeros(())
        for size, (_, member) in enumerate(sorted(self.members(setting, ensemble)), start=1):
            outputs = require_kept(self._read(setting, member), f"outputs of network {member}")
            total = total + outputs.astype(np.float64)
            is_wrong = total.argmax(axis=1) != labels
            places = list_places(is_wrong) if size == self.experiment.n else ""
            n_wrong = int(is_wrong.sum())
            yield ShapedEnsembleRecord(*setting, ensemble, n_hidden, n_wrong, len(labels), places, size)


def output_key(setting: Setting, number: int) -> tuple[int, int]:
    """Key of a network's stored outputs for one method."""
    return number, METHODS.index(setting.method)


def require_finite(scores: FloatArray) -> None:
    """Refuse scores that are not finite."""
    if not np.isfinite(scores).all():
        raise ElmldaError("scores are not finite.")


@dataclass(frozen=True, kw_only=True)
class ShapedNetworks(Experiment):
    """PI-ELM and LDA-ELM at settings that were chosen for each, single and combined."""

    name = "shaped"
    record_types = (ShapedRecord, ShapedEnsembleRecord)
    plan_type = ShapedPlan

    chosen: tuple[Setting, ...] = ()
    combined: tuple[Setting, ...] = ()
    """Those of the chosen that make ensembles."""
    grid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """The grid before it was widened, for the manifest."""
    fanouts: str | int | Iterable[int] = "1-20"
    repeats: int = 5
    n: int = 10
    ensembles: int = 3
    is_supposed: bool = False
    """Whether nothing is chosen yet: for the outlook."""

    @property
    def settings(self) -> NetworkSettings:
        """Of one of the networks: the kind that uses every option."""
        return replace(super().settings, input_weights=INPUT_WEIGHTS[-1])
