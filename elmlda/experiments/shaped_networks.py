"""PI-ELM and LDA-ELM, each at its own setting, on several kinds of input weights.

Network r of a kind has the same random numbers for both methods, whatever their settings. Each method's
networks of its best kind also make ensembles: member i of ensemble r is network r·n + i. LDA-ELM is
combined by the mean of its posteriors; PI-ELM, which has none, by the mean of its scores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from elmlda.core.arrays import FloatArray, IntArray
from elmlda.core.evaluate import posteriors, require_posteriors, round_posteriors
from elmlda.errors import ElmldaError
from elmlda.execute.local import execute
from elmlda.experiments.experiment import Experiment
from elmlda.experiments.network_experiment import require_possible
from elmlda.experiments.options import read_sizes
from elmlda.experiments.plan import Plan, Records, Step, Work, note_double
from elmlda.experiments.selection import METHODS
from elmlda.experiments.shaped_records import Setting, ShapedEnsembleRecord, ShapedRecord
from elmlda.experiments.tune import with_enough_precision, with_weight_size
from elmlda.networks.cost import Problem
from elmlda.networks.jobs import job_generator, load_job_data
from elmlda.networks.train import Readout, train_network
from elmlda.runs.posteriors import PosteriorStore
from elmlda.settings import INPUT_WEIGHTS, NetworkJob, NetworkSettings

Network = tuple[Setting, int]
"""A setting, and the number of a network or of an ensemble."""
FIRST_REPEATS = 3
"""Of every kind before more of any: what an interval needs."""


@dataclass(frozen=True)
class ShapedJob(NetworkJob):
    """One network for one method, or for both if they have the same weights."""

    ridges: tuple[tuple[str, float], ...] = ()
    """Method and its ridge."""

    @property
    def kind(self) -> str:
        return self.settings.input_weights


@dataclass(frozen=True, eq=False)
class MethodResult:
    """What one method made of a network."""

    errors: tuple[int, ...]
    """At each size."""
    wrong: IntArray
    """Places of the test samples that it gets wrong at the largest size."""
    outputs: FloatArray
    """At the largest size, n_test × n_classes in float32: posteriors, or PI-ELM's scores."""


@dataclass(frozen=True, eq=False)
class ShapedResult:
    """What a network gave."""

    methods: dict[str, MethodResult]
    n_test: int
    precision: str
    seconds: float


def run_job(job: ShapedJob) -> ShapedResult:
    """Train the job's network and test its methods, in this process."""
    dataset = load_job_data(job.dataset)
    ridges = sorted({ridge for _, ridge in job.ridges})
    trained = train_network(
        dataset, job_generator(job), [Readout(job.sizes, ridge) for ridge in ridges], job.settings,
        job.resources, [method for method, _ in job.ridges],
    )  # fmt: skip
    labels, methods = dataset.test.labels, {}
    for method, ridge in job.ridges:
        scored = trained.readouts[ridges.index(ridge)]
        last = scored.scores[method][:, -1]
        wrong = np.flatnonzero(last.argmax(axis=1) != labels)
        outputs = round_posteriors(posteriors(last)) if method == "lda" else last.astype(np.float32)
        methods[method] = MethodResult(scored.errors(method, labels), wrong, outputs)
    return ShapedResult(methods, len(labels), trained.precision, trained.seconds)


class ShapedPlan(Plan["ShapedNetworks", ShapedJob]):
    """Networks of every setting, few of all before many of the best."""

    varied = frozenset({"ridge", "weight_norm", "weight_range", "input_weights"})

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return read_sizes(self.experiment.fanouts, None, self.data.n_inputs)

    @property
    def design(self) -> str:
        is_supposed = self.experiment.is_supposed
        return "at most, before settings are chosen; nested" if is_supposed else "nested"

    @property
    def fixed(self) -> dict[str, Any]:
        return {"n": self.experiment.n}

    @property
    def extent(self) -> dict[str, Any]:
        """The grid is there to be told from what it was widened to."""
        experiment = self.experiment
        return {
            "input_weights": sorted({setting.input_weights for setting in experiment.chosen}),
            "repeats": experiment.repeats,
            "ensembles": experiment.ensembles,
            "n_hidden": self.sizes,
            **{f"first_{name}": values for name, values in experiment.grid.items()},
        }

    @cached_property
    def stores(self) -> dict[Setting, PosteriorStore]:
        """Of the outputs of the networks that make ensembles."""
        return {setting: self._store(setting) for setting in self.experiment.combined}

    def _store(self, setting: Setting) -> PosteriorStore:
        require = require_posteriors if setting.method == "lda" else require_finite
        identity, shape = {**self.identity, **vars(setting)}, self.dataset.test.labels.shape
        return PosteriorStore(self.folder, identity, (*shape, self.data.n_classes), require)

    def check(self) -> None:
        for setting in self.experiment.chosen:
            drawn = replace(self.settings, input_weights=setting.input_weights, ridge=setting.ridge)
            require_possible(self.dataset, drawn, self.sizes[-1])

    def problem(self, sizes: tuple[int, ...]) -> Problem:
        """The one that takes the most memory."""
        ridges = [setting.ridge for setting in self.experiment.chosen]
        enough = with_enough_precision(self.settings, ridges, len(self.dataset.train.labels))
        return replace(super().problem(sizes), in_double=enough.precision == "double")

    def job_problem(self, job: ShapedJob) -> Problem:
        n_ridges = len({ridge for _, ridge in job.ridges})
        in_double = job.settings.precision == "double"
        return replace(self.problem(job.sizes), n_ridges=n_ridges, in_double=in_double)

    def count_repeats(self, setting: Setting) -> int:
        members = (
            self.experiment.n * self.experiment.ensembles if setting in self.experiment.combined else 0
        )
        return max(self.experiment.repeats, members)

    def keys(self) -> list[tuple[Any, ...]]:
        return [
            (*setting.key, repeat, size)
            for setting in self.experiment.chosen
            for repeat in range(self.count_repeats(setting))
            for size in self.sizes
        ]

    def jobs(self, recorded: Collection[Any] = ()) -> list[ShapedJob]:
        """The networks that are not recorded at every size."""
        return self._list_jobs(self._open_networks(recorded))

    def missing(self, records: Records, posteriors: PosteriorStore) -> list[ShapedJob]:
        """Those, and the members of ensembles that are not recorded whose outputs are not kept."""
        wanted = self._open_networks({record.key for record in records[ShapedRecord]})
        for setting, ensemble in self.open_ensembles(records):
            members = {(setting, member) for member in self.members(ensemble)} - wanted
            wanted |= {member for member in members if self._read(*member) is None}
        return self._list_jobs(wanted)

    def _open_networks(self, recorded: Collection[Any]) -> set[Network]:
        return {
            (setting, repeat)
            for setting in self.experiment.chosen
            for repeat in range(self.count_repeats(setting))
            if not all((*setting.key, repeat, size) in recorded for size in self.sizes)
        }

    def _list_jobs(self, wanted: Iterable[Network]) -> list[ShapedJob]:
        """Networks in the order of `_stage`; methods with the same weights share one."""
        together: dict[tuple[int, str, float], list[Setting]] = {}
        for setting, repeat in wanted:
            key = repeat, setting.input_weights, setting.weight_size
            together.setdefault(key, []).append(setting)
        order = sorted(together, key=lambda key: (self._stage(key[0], together[key]), *key))
        return [self._job(key[0], together[key]) for key in order]

    def _stage(self, repeat: int, settings: list[Setting]) -> int:
        """An interval for all kinds, the first ensembles, all kinds' repeats, the other ensembles."""
        if repeat < FIRST_REPEATS:
            return 0
        is_combined = not set(settings).isdisjoint(self.experiment.combined)
        if is_combined and repeat < self.experiment.n:
            return 1
        return 2 if repeat < self.experiment.repeats else 3

    def _job(self, repeat: int, settings: list[Setting]) -> ShapedJob:
        one, ridges = settings[0], [setting.ridge for setting in settings]
        drawn = replace(self.settings, input_weights=one.input_weights, ridge=min(ridges))
        n_train = len(self.dataset.train.labels)
        return ShapedJob(
            self.ref, self.experiment.seed, (repeat,), self.sizes,
            with_enough_precision(with_weight_size(drawn, one.weight_size), ridges, n_train),
            self.resources, tuple(sorted((setting.method, setting.ridge) for setting in settings)),
        )  # fmt: skip

    def members(self, ensemble: int) -> range:
        """Numbers of an ensemble's networks."""
        return range(ensemble * self.experiment.n, (ensemble + 1) * self.experiment.n)

    def open_ensembles(self, records: Records) -> list[Network]:
        """Those that are not recorded in full."""
        recorded = {record.key for record in records[ShapedEnsembleRecord]}
        return [
            (setting, repeat)
            for repeat in range(self.experiment.ensembles)
            for setting in self.experiment.combined
            if (*setting.key, repeat, self.sizes[-1], self.experiment.n) not in recorded
        ]

    def drop_incomplete(self, records: Records) -> Records:
        """All but a part of an ensemble, which is combined again."""
        open_ones = {
            (*setting.key, repeat, self.sizes[-1]) for setting, repeat in self.open_ensembles(records)
        }
        whole = [r for r in records[ShapedEnsembleRecord] if r.key[:-1] not in open_ones]
        return {**records, ShapedEnsembleRecord: whole}

    def steps(self, work: Work[ShapedJob]) -> Iterator[Step]:
        """Ensembles that are whole already, then each network and what becomes whole by it."""
        lacking = {(each, job.key[0]) for job in work.jobs for each in self._settings_of(job)}
        waiting = {
            (setting, ensemble): {(setting, member) for member in self.members(ensemble)} & lacking
            for setting, ensemble in self.open_ensembles(work.records)
        }
        yield from self._combine_whole(waiting)
        for job, result in execute(run_job, work.jobs, work.backend):
            for setting in self._settings_of(job):
                network, place = (setting, job.key[0]), (setting, job.key[0] // self.experiment.n)
                if place in waiting:
                    self._keep_outputs(*network, result)
                    waiting[place].discard(network)
            note = note_double(job.key[0], result.precision, job.settings)
            yield Step(list(self._records(job, result)), note=note)
            yield from self._combine_whole(waiting)

    def _settings_of(self, job: ShapedJob) -> list[Setting]:
        wanted = {(job.kind, *ridge) for ridge in job.ridges}
        return [s for s in self.experiment.chosen if (s.input_weights, s.method, s.ridge) in wanted]

    def _records(self, job: ShapedJob, result: ShapedResult) -> Iterator[ShapedRecord]:
        for setting in self._settings_of(job):
            of_method = result.methods[setting.method]
            for size, errors in zip(job.sizes, of_method.errors, strict=True):
                wrong = _list_places(of_method.wrong) if size == job.sizes[-1] else ""
                yield ShapedRecord(
                    *setting.key, job.key[0], size, errors, result.n_test, wrong,
                    size / self.data.n_inputs, result.seconds, result.precision,
                )  # fmt: skip

    def _keep_outputs(self, setting: Setting, member: int, result: ShapedResult) -> None:
        key = member, METHODS.index(setting.method)
        self.stores[setting].write(key, self.sizes[-1], result.methods[setting.method].outputs)

    def _read(self, setting: Setting, member: int) -> FloatArray | None:
        return self.stores[setting].read((member, METHODS.index(setting.method)), self.sizes[-1])

    def _combine_whole(self, waiting: dict[Network, set[Network]]) -> Iterator[Step]:
        for ensemble in [ensemble for ensemble, lacking in waiting.items() if not lacking]:
            del waiting[ensemble]
            yield Step(list(self._combine(*ensemble)), n_done=0)

    def _combine(self, setting: Setting, ensemble: int) -> Iterator[ShapedEnsembleRecord]:
        """Every size of one ensemble, from one pass over its members."""
        total: FloatArray = np.zeros(())
        labels = self.dataset.test.labels
        for size, member in enumerate(self.members(ensemble), start=1):
            outputs = self._read(setting, member)
            if outputs is None:
                raise ElmldaError(
                    f"outputs of network {member} went away while they were needed. "
                    "Run the same command again."
                )
            total = total + outputs.astype(np.float64)
            wrong = np.flatnonzero(total.argmax(axis=1) != labels)
            places = _list_places(wrong) if size == self.experiment.n else ""
            yield ShapedEnsembleRecord(
                *setting.key,
                ensemble,
                self.sizes[-1],
                len(wrong),
                len(self.dataset.test.labels),
                places,
                size,
            )


def _list_places(wrong: IntArray) -> str:
    return " ".join(map(str, wrong.tolist()))


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
    """What was to be tried at first, for the manifest."""
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


def require_finite(scores: FloatArray) -> None:
    """Refuse scores that are no numbers."""
    if not np.isfinite(scores).all():
        raise ElmldaError("scores are not finite.")
