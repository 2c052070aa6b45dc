"""Table 1 and Fig. 1: PI-ELM and LDA-ELM on the same input weights, over fan-outs and repeats.

Several ridges share a Gram matrix. Held-out training samples may stand in for the test part, and data
without a test part may be divided by repeated stratified cross-validation, with a network of its own
for every fold of every repeat.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from elmlda.experiments.experiment import Experiment, Key, Result
from elmlda.experiments.training import most_units
from elmlda.options import FLAG, OptionError, number, one_of, option, or_loo, whole

if TYPE_CHECKING:
    from elmlda.datasets import Dataset
    from elmlda.networks.train import TestedNetwork, TestScores

METHODS = ("pi", "pi_constant", "lda")
SMALLEST_HALF = 2.0**-24
"""Float16's smallest number above 0."""


class SweepJob(NamedTuple):
    """A network to be trained and tested."""

    repeat: int
    fold: int | None
    sizes: tuple[int, ...]
    """Hidden sizes, ascending: the network has the largest, the others are its first units."""
    is_kept: bool = False
    """Whether its posteriors and wrong answers are kept."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Sweep(Experiment):
    """PI-ELM and LDA-ELM on the same random input weights, test errors counted.

    The options of `elmlda sweep` are its arguments; `elmlda sweep --help` explains each. `run(folder)`
    computes what the folder lacks and returns a DataFrame with a row for each network, hidden size and
    ridge; `dry_run(folder)` says what that would take.
    """

    name = "sweep"

    repeats: int = option(200, whole(1, 10_000), "Networks with new random weights.")
    ridge: Any = option(
        0.0,
        or_loo(number(), several=True),
        "Added to the Gram matrix's diagonal; loo chooses it; several with commas.",
    )
    design: str = option(
        "nested",
        one_of("nested", "independent"),
        "nested: fan-out f is the first part of one large network, which is fast. independent: new "
        "weights for each fan-out, as in the paper.",
    )
    validation: int | None = option(
        None,
        whole(),
        "Test on the last N training samples, which are held out.",
    )
    folds: int | None = option(
        None,
        whole(2, 10_000),
        "Folds of stratified cross-validation, for data without a test part.",
    )
    keep: bool = option(
        True, FLAG, "Keep test posteriors at the largest size and all wrong answers, for ensembles."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.folds and self.validation:
            raise OptionError(
                "", "{folds} and {validation} exclude each other.", folds=None, validation=None
            )
        if self.folds and self.design != "nested":
            raise OptionError("", "{folds} needs {design}.", folds=None, design="nested")

    def own_settings(self) -> dict[str, Any]:
        changed = self.changed()
        names = ("folds", "validation", "temperature")
        return {name: changed[name] for name in names if name in changed}

    @cached_property
    def data(self) -> Dataset:
        """The training and the test part, or the first fold: no other has fewer training samples."""
        if self.folds:
            fold = self.divide(self.loaded, 0, 0)
            shared = {name: text for name, text in fold.preparation.items() if name != "rows"}
            return replace(fold, preparation=shared)
        divided = self.loaded.split()
        return divided.hold_out(self.validation) if self.validation else divided

    @property
    def job_data(self) -> Dataset:
        return self.loaded if self.folds else self.data

    def divide(self, loaded: Dataset, repeat: int, fold: int) -> Dataset:
        """One fold to test on, the others to train on."""
        import numpy as np

        assert self.folds
        seed = np.random.SeedSequence(self.seed, spawn_key=(repeat, 0))
        return next(islice(loaded.folds(self.folds, np.random.default_rng(seed)), fold, None))

    # Rows and the networks that give them

    def find_wanted(self) -> list[Key]:
        """Without a ridge, LDA has a solution only up to a number of units that the samples set."""
        most = most_units(self.data)
        return [
            (repeat, fold, _as_recorded(ridge), size)
            for repeat in range(self.repeats)
            for fold in (range(self.folds) if self.folds else [None])
            for ridge in self.ridges
            for size in self.sizes
            if ridge != 0 or size <= most
        ]

    def key_of(self, row: Mapping[Any, Any]) -> Key:
        fold, rule = row["fold"], row["rule"]
        ridge = _as_recorded(row["ridge"]) if rule == "fixed" else rule
        return row["repeat"], None if fold != fold else fold, ridge, row["n_hidden"]

    def find_jobs(self, missing: Collection[Key], folder: Path) -> list[SweepJob]:
        """A network for each repeat and fold; in the independent design one for each size, too."""
        if self.design == "independent":
            places = dict.fromkeys((repeat, fold, (size,)) for repeat, fold, _, size in missing)
            return [SweepJob(*place) for place in places]
        largest: dict[tuple[int, int | None], int] = {}
        for repeat, fold, _, size in missing:
            largest[repeat, fold] = max(size, largest.get((repeat, fold), 0))
        is_kept = self.keep and len(self.ridges) == 1
        return [
            SweepJob(
                repeat,
                fold,
                tuple(size for size in self.sizes if size <= most),
                # The folds of one repeat test every sample once.
                is_kept=is_kept and most == self.sizes[-1] and (fold is None or repeat == 0),
            )
            for (repeat, fold), most in largest.items()
        ]

    def compute(self, data: Dataset, job: SweepJob, threads: int) -> Result:
        """Train and test a network."""
        repeat, fold, sizes, is_kept = job
        key: tuple[int, ...] = (repeat,)
        if fold is not None:
            data, key = self.divide(data, repeat, fold), (repeat, 1 + fold)
        elif self.design == "independent":
            key = independent_key(repeat, sizes[0], data.n_inputs)
        most = most_units(data)
        by_ridge = {r: tuple(size for size in sizes if r != 0 or size <= most) for r in self.ridges}
        by_ridge = {ridge: found for ridge, found in by_ridge.items() if found}
        tested = self.train(data, key, by_ridge, threads)
        rows = [
            {"repeat": repeat, "fold": fold, **row}
            for scores in tested.scores
            for row in make_rows(data, scores, tested)
        ]
        kept = pack_network(data, tested) if is_kept else None
        if kept and fold is not None:
            assert data.test is not None
            names = [name for name in ("posteriors", "tempered") if name in kept]
            kept = {name: kept[name] for name in names} | {"labels": data.test.labels}
        return Result(rows, repeat if fold is None else fold, kept)


def independent_key(repeat: int, n_hidden: int, n_inputs: int) -> tuple[int, ...]:
    """Spawn key of the independent design: every size has networks of its own.

    They are known by their fan-out or, where that is not whole, by their hidden units.
    """
    fanout, rest = divmod(n_hidden, n_inputs)
    return (repeat, fanout) if rest == 0 else (repeat, 0, n_hidden)


def _as_recorded(ridge: float | str) -> float | str:
    """A ridge with as many digits as rows have."""
    return ridge if isinstance(ridge, str) else float(f"{ridge:.6g}")


def make_rows(data: Dataset, scores: TestScores, tested: TestedNetwork) -> list[dict[str, Any]]:
    """A row for each size: counts, and how good LDA's posteriors are."""
    from elmlda.core.evaluate import count_errors, measure_posteriors, posteriors

    assert data.test is not None
    labels = data.test.labels
    n_solved = scores.lda.shape[1]
    pi, pi_constant, lda = (count_errors(getattr(scores, name), labels) for name in METHODS)
    rows = []
    for i, (size, tau) in enumerate(zip(scores.sizes, scores.temperatures, strict=True)):
        row = {
            "n_hidden": size,
            "fanout": size / data.n_inputs,
            "rule": scores.rule,
            "ridge": scores.ridge,
            "pi_errors": int(pi[i]),
            "pi_constant_errors": int(pi_constant[i]),
            "n_test": len(labels),
            "seconds": tested.seconds,
            "precision": tested.precision,
        }
        if i < n_solved:
            row["lda_errors"] = int(lda[i])
            row |= measure_posteriors(posteriors(scores.lda[:, i]), labels)
        if i < n_solved and is_temperature(tau):
            tempered = measure_posteriors(posteriors(tau * scores.lda[:, i]), labels)
            row["temperature"] = float(tau)
            row |= {f"tempered_{name}": value for name, value in tempered.items()}
        rows.append(row)
    return rows


def is_temperature(value: float) -> bool:
    """Whether scores times this have other posteriors: 1 is the paper's, nan is none."""
    return value > 0 and value != 1


def pack_network(data: Dataset, tested: TestedNetwork) -> dict[str, Any] | None:
    """LDA's posteriors at the largest size, and each method's wrong answers; None without LDA's.

    `truth` is the logarithm of the true class's posterior, which float16 would round to zero: an
    ensemble's log-loss follows from it. With a temperature, the tempered posteriors are kept too. Below
    float16's smallest number they count as that.

    A rule that chooses the ridge has scores of its own for every size.
    """
    import numpy as np
    from scipy.special import log_softmax

    from elmlda.core.evaluate import posteriors, round_posteriors

    assert data.test is not None
    labels = data.test.labels
    sizes = [size for scores in tested.scores for size in scores.sizes]
    pi, pi_constant, lda = (
        np.hstack([getattr(scores, name) for scores in tested.scores]) for name in METHODS
    )
    if lda.shape[1] < len(sizes):
        return None
    by_method = np.stack([pi, pi_constant, lda]).argmax(axis=-1)
    wrong = by_method.swapaxes(1, 2) != labels
    tempered, tau = {}, tested.scores[-1].temperatures[-1]
    if is_temperature(tau):
        exact = np.maximum(posteriors(tau * lda[:, -1]), SMALLEST_HALF)
        tempered = {"tempered": round_posteriors(exact, np.float16)}
    return {
        "posteriors": round_posteriors(posteriors(lda[:, -1]), np.float16),
        **tempered,
        "truth": log_softmax(lda[:, -1], axis=1)[np.arange(len(labels)), labels].astype(np.float16),
        "wrong": np.packbits(wrong, axis=-1),
        "sizes": np.array(sizes),
    }
