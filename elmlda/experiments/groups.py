"""Networks whose test posteriors are kept, and combined in groups as soon as a group is whole."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from elmlda.core.arrays import FloatArray
from elmlda.core.evaluate import posteriors, round_posteriors
from elmlda.errors import ElmldaError
from elmlda.execute.local import execute
from elmlda.experiments.plan import (
    AnyExperiment,
    NetworkPlan,
    NetworkPosteriors,
    Records,
    Step,
    Work,
)
from elmlda.networks.jobs import job_generator, load_job_data
from elmlda.networks.train import Readout, train_network
from elmlda.runs.record import Record
from elmlda.settings import NetworkJob

MOST_NETWORKS = 100_000
"""All of them are listed before the first is trained."""
Group = TypeVar("Group")


class Network(NamedTuple):
    """A network of the run, at one of its hidden sizes."""

    number: int
    n_hidden: int


class GroupPlan(NetworkPlan[AnyExperiment]):
    """Groups of networks, known by anything hashable; a network may be in several."""

    @abstractmethod
    def groups(self, recorded: Collection[Any] = ()) -> Iterable[Any]:
        """Those with a key that is not recorded."""

    @abstractmethod
    def members(self, group: Any) -> Sequence[Network]:
        """The networks of a group."""

    @abstractmethod
    def combine(self, group: Any) -> Sequence[Record]:
        """The group's records, from the kept posteriors of its networks."""

    def open_groups(self, records: Records) -> Iterable[Any]:
        """Groups that are not recorded in full."""
        return self.groups({record.key for record in records[self.experiment.record_types[0]]})

    def read(self, network: Network) -> FloatArray | None:
        """A network's kept posteriors, if there are any."""
        return self.posteriors.read(self.key(*network), network.n_hidden)

    def jobs(self, recorded: Collection[Any] = ()) -> list[NetworkJob]:
        """The networks of the groups that are not recorded, their posteriors kept or not."""
        return self.make_jobs(self._networks(self.groups(recorded)))

    def missing(self, records: Records) -> list[NetworkJob]:
        """The networks of open groups whose posteriors are not kept."""
        needed = self._networks(self.open_groups(records))
        return self.make_jobs(network for network in needed if self.read(network) is None)

    def _networks(self, groups: Iterable[Any]) -> list[Network]:
        return sorted({network for group in groups for network in self.members(group)})

    def steps(self, work: Work) -> Iterator[Step]:
        """Groups that are whole already, then each network and what becomes whole by it."""
        lacking = {Network(job.key[0], size) for job in work.jobs for size in job.sizes}
        groups = self.open_groups(work.records)
        waiting = {group: lacking.intersection(self.members(group)) for group in groups}
        for group in pop_whole(waiting):
            yield Step(self.combine(group), n_done=0)
        for job, found in execute(score_job, work.jobs, work.backend):
            # The largest is kept last: until it is, the network is trained again as large as it was,
            # and its smaller sizes are rounded as they were.
            for n_hidden, of_size in zip(job.sizes, found, strict=True):
                kept = NetworkPosteriors(job.key, n_hidden, of_size)
                yield Step(posteriors=kept, n_done=int(n_hidden == job.sizes[-1]))
            for group in pop_whole(waiting, [Network(job.key[0], size) for size in job.sizes]):
                yield Step(self.combine(group), n_done=0)


def score_job(job: NetworkJob) -> list[FloatArray]:
    """LDA-ELM's test posteriors at each of the job's hidden sizes (float32), in this process."""
    readout = Readout(job.sizes, job.settings.ridge)
    (scored,) = train_network(
        load_job_data(job.dataset), job_generator(job), [readout], job.settings, job.resources, ("lda",)
    ).readouts
    scores = scored.scores["lda"]
    return [round_posteriors(posteriors(scores[:, i])) for i in range(len(job.sizes))]


def pop_whole(waiting: dict[Group, set[Any]], done: Collection[Hashable] = ()) -> list[Group]:
    """Remove and return the groups that lack no network, once those in `done` are there."""
    for lacking in waiting.values():
        lacking.difference_update(done)
    whole = [group for group, lacking in waiting.items() if not lacking]
    for group in whole:
        del waiting[group]
    return whole


def require_kept(kept: FloatArray | None, name: str) -> FloatArray:
    """Posteriors or scores that were read; an error if their file has gone since the run started."""
    if kept is None:
        raise ElmldaError(f"{name} went away while they were needed. Run the same command again.")
    return kept


def require_listable(repeats: int, n_members: int) -> None:
    """Refuse more networks than can be listed in a second."""
    if repeats * n_members > MOST_NETWORKS:
        raise ElmldaError(
            f"{repeats:,} groups of {n_members:,} are {repeats * n_members:,} networks, expected at "
            f"most {MOST_NETWORKS:,}.",
            "Lower {n} or {repeats}.",
            n=None,
            repeats=None,
        )
