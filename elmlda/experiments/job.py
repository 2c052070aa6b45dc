"""A job: a network to be trained and tested by a worker, and the rows that come of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from elmlda.errors import ElmldaError
from elmlda.options import OptionError

if TYPE_CHECKING:
    from elmlda.datasets import Dataset
    from elmlda.networks.cost import Problem
    from elmlda.networks.train import TestedNetwork, TestScores


@dataclass(frozen=True)
class Job:
    """A network to be trained and tested: what a worker does in one go."""

    key: tuple[int, ...]
    """The network's place in the run: the spawn key of its random generator. The repeat is first."""
    sizes_by_ridge: Mapping[float | str, tuple[int, ...]]
    """Hidden sizes, ascending; the network has the largest, the others are its first units."""
    fold: int | None = None
    is_kept: bool = False
    """Whether its posteriors and wrong answers are kept."""
    recorded: frozenset[int] = frozenset()
    """Sizes that have rows already, and are computed for what is kept."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """All hidden sizes, ascending."""
        return tuple(sorted({size for sizes in self.sizes_by_ridge.values() for size in sizes}))


@dataclass(frozen=True, eq=False)
class Result:
    """What a job gives."""

    rows: list[dict[str, Any]]
    network: int = 0
    kept: Mapping[str, Any] | None = None
    """Arrays to keep of that network."""
    note: str = ""
    """For the user: something went another way than usual."""


def refuse_two_sizes(experiment: Any) -> None:
    """Refuse a fan-out together with hidden units."""
    changed = experiment.changed()
    if "fanout" in changed and "hidden" in changed:
        raise OptionError(
            "", "{fanout} and {hidden} exclude each other: give one.", fanout=None, hidden=None
        )


def independent_key(repeat: int, n_hidden: int, n_inputs: int) -> tuple[int, ...]:
    """Spawn key of the independent design: every size has networks of its own.

    They are known by their fan-out or, where that is not whole, by their hidden units.
    """
    fanout, rest = divmod(n_hidden, n_inputs)
    return (repeat, fanout) if rest == 0 else (repeat, 0, n_hidden)


def train_job(experiment: Any, data: Dataset, job: Job, threads: int) -> TestedNetwork:
    """Train and test a job's network."""
    import numpy as np

    from elmlda.networks.cost import predict_peak_bytes
    from elmlda.networks.train import Recipe, train_and_test

    seed = np.random.SeedSequence(experiment.seed, spawn_key=job.key)
    recipe = Recipe.for_dataset(data, seed, job.sizes[-1], experiment.settings)
    problem = replace(describe_network(experiment, job.sizes, data), precision="double")
    double_bytes = predict_peak_bytes(problem)
    return train_and_test(data, recipe, job.sizes_by_ridge, threads, double_bytes)


def describe_network(
    experiment: Any, sizes: tuple[int, ...], data: Dataset | None = None, **more: Any
) -> Problem:
    """What a network of these sizes costs."""
    from elmlda.networks.cost import Problem
    from elmlda.networks.train import choose_precision

    data = data or experiment.data
    assert data.test is not None
    shape = len(data.train.labels), len(data.test.labels), data.n_inputs, data.n_classes
    precision = choose_precision(experiment.precision, sizes[-1])
    return Problem(*shape, sizes, precision, input_bytes=data.nbytes, **more)


def as_recorded(ridge: float | str) -> float | str:
    """A ridge with as many digits as rows have."""
    return ridge if isinstance(ridge, str) else float(f"{ridge:.6g}")


def require_possible(data: Dataset, settings: Any) -> None:
    """Refuse, before anything is computed, priors and receptive fields that do not fit the data."""
    from elmlda.networks.train import resolve_priors

    resolve_priors(settings.priors, data.train.count_classes(data.n_classes))
    data.input_space.require(settings)


def largest_size(data: Dataset) -> int:
    """Hidden units that LDA can have without a ridge: each class's mean takes a dimension of Σ."""
    return len(data.train.labels) - data.n_classes


def require_samples(data: Dataset, n_hidden: int, by_units: Any) -> None:
    """Refuse more hidden units than the samples can carry without a ridge."""
    n_train, n_classes, most = len(data.train.labels), data.n_classes, largest_size(data)
    if n_hidden <= most:
        return
    largest = {"hidden": most} if by_units else {"fanout": most // data.n_inputs}
    raise ElmldaError(
        f"{n_train:,} training samples in {n_classes:,} classes can carry at most {max(0, most):,} "
        f"hidden units without a ridge, {n_hidden:,} are asked for.",
        "Add {ridge}, or use at most {}." if max(largest.values()) > 0 else "Add {ridge}.",
        ridge="1e-3",
        **largest,
    )


def make_rows(data: Dataset, scores: TestScores, tested: TestedNetwork) -> list[dict[str, Any]]:
    """A row for each size: counts, and how good LDA's posteriors are."""
    from elmlda.core.calibration import measure_posteriors
    from elmlda.core.evaluate import count_errors, posteriors

    assert data.test is not None
    labels = data.test.labels
    n_solved = scores.lda.shape[1]
    errors = {
        name: count_errors(getattr(scores, name), labels) for name in ("pi", "pi_constant", "lda")
    }
    rows = []
    for i, size in enumerate(scores.sizes):
        quality: dict[str, Any] = dict.fromkeys(("log_loss", "brier", "calibration_error"))
        if i < n_solved:
            quality = measure_posteriors(posteriors(scores.lda[:, i]), labels)
        rows.append(
            {
                "n_hidden": size,
                "fanout": size / data.n_inputs,
                "rule": scores.rule,
                "ridge": scores.ridge,
                "pi_errors": int(errors["pi"][i]),
                "pi_constant_errors": int(errors["pi_constant"][i]),
                "lda_errors": int(errors["lda"][i]) if i < n_solved else None,
                "n_test": len(labels),
                **quality,
                "temperature": None,
                **{f"tempered_{name}": None for name in quality},
                "seconds": tested.seconds,
                "precision": tested.precision,
            }
        )
    return rows


def pack_network(data: Dataset, found: list[TestScores]) -> dict[str, Any] | None:
    """LDA's posteriors at the largest size, and each method's wrong answers; None without LDA's.

    A rule that chooses the ridge has scores of its own for every size.
    """
    import numpy as np

    from elmlda.core.evaluate import posteriors, round_posteriors

    assert data.test is not None
    sizes = [size for scores in found for size in scores.sizes]
    methods = ("pi", "pi_constant", "lda")
    pi, pi_constant, lda = (np.hstack([getattr(each, name) for each in found]) for name in methods)
    if lda.shape[1] < len(sizes):
        return None
    by_method = np.stack([pi, pi_constant, lda]).argmax(axis=-1)
    wrong = by_method.swapaxes(1, 2) != data.test.labels
    return {
        "posteriors": round_posteriors(posteriors(lda[:, -1]), np.float16),
        "wrong": np.packbits(wrong, axis=-1),
        "sizes": np.array(sizes),
    }


def describe_precision(experiment: Any, job: Job, tested: TestedNetwork) -> str:
    """A note on a network that was computed again in double precision, empty on any other."""
    from elmlda.networks.train import choose_precision

    if tested.precision == choose_precision(experiment.precision, job.sizes[-1]):
        return ""
    return (
        "float32 was not enough for some networks: they are computed in double, and their rows say so"
    )
