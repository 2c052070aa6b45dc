"""What sweep, ensemble and timing have in common: networks with one ridge, on data divided once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from elmlda.core.arrays import FloatArray
from elmlda.datasets import Dataset
from elmlda.errors import ElmldaError
from elmlda.experiments.experiment import Experiment
from elmlda.experiments.options import LayerOptions
from elmlda.experiments.run_spec import RunSpec
from elmlda.networks.steps import resolve_priors
from elmlda.settings import NetworkSettings

MOST_NETWORKS = 100_000
"""All of them are listed before the first is trained."""


@dataclass(frozen=True, kw_only=True)
class NetworkExperiment(LayerOptions, Experiment):
    """An experiment whose networks have one ridge, on data that are divided once and for all."""

    design: str = "nested"
    ridge: float = 0.0

    def own_identity(self) -> dict[str, Any]:
        return {"design": self.design}

    def check(self, spec: RunSpec) -> None:
        require_possible(spec.dataset, self.settings, self.sizes(spec)[-1])

    def resolve_priors(self, spec: RunSpec) -> FloatArray:
        """LDA's prior probabilities of the data's classes."""
        return resolve_priors(self.priors, spec.dataset.train.count_classes(spec.dataset.n_classes))


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


def require_possible(dataset: Dataset, settings: NetworkSettings, n_hidden: int = 0) -> None:
    """Refuse, before anything is computed, what would fail hours later."""
    resolve_priors(settings.priors, dataset.train.count_classes(dataset.n_classes))
    dataset.input_space.require(settings)
    n_train = len(dataset.train.labels)
    if settings.ridge > 0 or n_hidden < n_train:
        return
    fanout = (n_train - 1) // dataset.n_inputs
    raise ElmldaError(
        "LDA needs more training samples than hidden units or a ridge: "
        f"{n_train:,} samples, {n_hidden:,} hidden units.",
        "Add {ridge}, or use at most {fanout}." if fanout else "Add {ridge}.",
        ridge="1e-3",
        fanout=fanout,
    )
