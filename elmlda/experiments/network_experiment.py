"""What sweep, ensemble and timing have in common: networks with one ridge, on data divided once."""

from __future__ import annotations

from elmlda.datasets import Dataset
from elmlda.errors import ElmldaError
from elmlda.experiments.plan import AnyExperiment, Job, Plan
from elmlda.networks.steps import resolve_priors
from elmlda.settings import NetworkJob, NetworkSettings, network_key

MOST_NETWORKS = 100_000
"""All of them are listed before the first is trained."""


class NetworkPlan(Plan[AnyExperiment, Job]):
    """A plan that refuses what LDA-ELM needs a ridge for."""

    def check(self) -> None:
        by_units = getattr(self.experiment, "hidden", None) is not None
        require_possible(self.dataset, self.settings, self.sizes[-1], by_units=by_units)

    def key(self, number: int, n_hidden: int) -> tuple[int, ...]:
        """Key of the run's network of this number, at this hidden size."""
        return network_key(self.design, number, n_hidden, self.data.n_inputs)

    def make_job(self, number: int, sizes: tuple[int, ...]) -> NetworkJob:
        """The network of this number with the experiment's settings."""
        seed, key = self.experiment.seed, self.key(number, sizes[-1])
        return NetworkJob(self.ref, seed, key, sizes, self.settings, self.resources)


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


def require_possible(
    dataset: Dataset, settings: NetworkSettings, n_hidden: int = 0, *, by_units: bool = False
) -> None:
    """Refuse, before anything is computed, what would fail hours later.

    `by_units` says whether the size was given as hidden units, not as a fan-out.
    """
    resolve_priors(settings.priors, dataset.train.count_classes(dataset.n_classes))
    dataset.input_space.require(settings)
    n_train = len(dataset.train.labels)
    if settings.ridge > 0 or n_hidden < n_train:
        return
    fanout = (n_train - 1) // dataset.n_inputs
    largest = {"hidden": n_train - 1} if by_units else {"fanout": fanout}
    raise ElmldaError(
        "LDA needs more training samples than hidden units or a ridge: "
        f"{n_train:,} samples, {n_hidden:,} hidden units.",
        "Add {ridge}, or use at most {}." if by_units or fanout else "Add {ridge}.",
        ridge="1e-3",
        **largest,
    )
