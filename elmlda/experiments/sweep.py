"""Table 1 and Fig. 1: PI-ELM and LDA-ELM on the same input weights, over fan-outs and repeats.

Several ridges share a Gram matrix. Held-out training samples may stand in for the test part, and data
without a test part may be divided by repeated stratified cross-validation, with a network of its own
for every fold of every repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmlda.errors import ElmldaError
from elmlda.experiments.experiment import Experiment
from elmlda.experiments.job import (
    Job,
    Result,
    as_recorded,
    describe_network,
    describe_precision,
    independent_key,
    largest_size,
    make_rows,
    pack_network,
    refuse_two_sizes,
    require_possible,
    require_samples,
    train_job,
)
from elmlda.options import DESIGNS, OptionError, flag, numbers, one_of, option, optional, ridges, whole

if TYPE_CHECKING:
    import pandas as pd

    from elmlda.datasets import Dataset
    from elmlda.networks.cost import Problem

FANOUT_HELP = "Hidden units for each input: 1-20, or 1-10,12,15,20."
HIDDEN_HELP = "Numbers of hidden units instead of --fanout: 100,500,1000-5000:1000."


@dataclass(frozen=True, kw_only=True, repr=False)
class Sweep(Experiment):
    """PI-ELM and LDA-ELM on the same random input weights, test errors counted.

    The options of `elmlda sweep` are its arguments; `elmlda sweep --help` explains each. `run(folder)`
    computes what the folder lacks and returns a DataFrame with a row for each network, hidden size and
    ridge; `dry_run(folder)` says what that would take.
    """

    name = "sweep"
    row_key = ("repeat", "fold", "rule", "ridge", "n_hidden")

    fanout: Any = option("1-20", numbers("1-20"), FANOUT_HELP)
    hidden: Any = option(None, optional(numbers("100,500")), HIDDEN_HELP)
    repeats: int = option(200, whole(1, 10_000), "Networks with new random weights; the paper has 200.")
    ridge: Any = option(
        0.0,
        ridges(several=True),
        "Added to the diagonal of the Gram matrix: 0 is the paper's; gcv chooses it by generalised "
        "cross-validation; several with commas.",
    )
    design: str = option(
        "nested",
        one_of(*DESIGNS),
        "nested: fan-out f is the first part of one large network, which is fast. independent: new "
        "weights for each fan-out, as in the paper.",
    )
    validation: int | None = option(
        None,
        optional(whole()),
        "Hold out the last N training samples and test on them instead of the test part.",
    )
    folds: int | None = option(
        None,
        optional(whole(2, 10_000)),
        "Folds of repeated stratified cross-validation, for data without a test part.",
    )
    keep: bool = option(
        True, flag(), "Keep test posteriors at the largest size and all wrong answers, for ensembles."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_two_sizes(self)
        if self.folds and self.validation:
            raise OptionError(
                "", "{folds} and {validation} exclude each other.", folds=None, validation=None
            )
        if self.folds and self.design != "nested":
            raise OptionError("", "{folds} needs {design}.", folds=None, design="nested")

    @cached_property
    def data(self) -> Dataset:
        if self.folds:
            return next(iter(self.loaded.folds(self.folds, self._fold_rng(0))))
        divided = self.loaded.split()
        return divided.hold_out(self.validation) if self.validation else divided

    @property
    def job_data(self) -> Dataset:
        return self.loaded if self.folds else self.data

    def own_settings(self) -> dict[str, Any]:
        settings = {"folds": self.folds, "validation": self.validation}
        return {name: value for name, value in settings.items() if value}

    def describe_preparation(self) -> dict[str, str]:
        """Every fold has rows of its own."""
        found = self.data.preparation
        return {key: value for key, value in found.items() if not (self.folds and key == "rows")}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Hidden sizes, ascending."""
        return self.read_sizes(self.fanout, self.hidden)

    @property
    def ridges(self) -> tuple[float | str, ...]:
        return self.ridge if isinstance(self.ridge, tuple) else (self.ridge,)

    @cached_property
    def sizes_by_ridge(self) -> dict[float | str, tuple[int, ...]]:
        """The sizes at which LDA can have a solution: without a ridge, samples bound them."""
        most = largest_size(self.data)
        fewer = tuple(size for size in self.sizes if size <= most)
        return {ridge: fewer if ridge == 0 else self.sizes for ridge in self.ridges}

    @property
    def n_wanted(self) -> int:
        return self.repeats * (self.folds or 1) * sum(map(len, self.sizes_by_ridge.values()))

    def check(self) -> None:
        if self.folds and self.loaded.test is not None:
            raise ElmldaError(
                f"{self.loaded.name} has a test part of its own.", "Leave out {folds}.", folds=None
            )
        require_possible(self.data, self.settings)
        if not any(self.sizes_by_ridge.values()):
            require_samples(self.data, self.sizes[0], self.hidden)
        if self.ridge == 0:
            require_samples(self.data, self.sizes[-1], self.hidden)

    def describe_problem(self) -> Problem:
        has_rule = any(isinstance(ridge, str) for ridge in self.ridges)
        return describe_network(self, self.sizes, n_ridges=len(self.ridges), has_rule=has_rule)

    def find_jobs(self, rows: pd.DataFrame, folder: Path) -> list[Job]:
        """Networks without a row for each of their sizes and ridges."""
        recorded = set(map(tuple, self._places(rows).to_numpy())) if len(rows) else set()
        wanted = {(as_recorded(r), size) for r, sizes in self.sizes_by_ridge.items() for size in sizes}
        jobs: list[Job] = []
        for repeat in range(self.repeats):
            for fold in range(self.folds) if self.folds else [-1]:
                missing = {(r, size) for r, size in wanted if (repeat, fold, r, size) not in recorded}
                if missing:
                    jobs += self._make_jobs(repeat, fold, missing)
        return jobs

    def _places(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Repeat, fold (-1: none), rule or ridge, and size of each row."""
        places = rows[["repeat", "fold", "rule", "n_hidden"]].copy()
        places["fold"] = places["fold"].fillna(-1).astype(int)
        places["rule"] = rows["rule"].where(rows["rule"] != "fixed", rows["ridge"])
        return places

    def _make_jobs(self, repeat: int, fold: int, missing: set[tuple[float | str, int]]) -> list[Job]:
        """A nested network gives all its sizes, and is kept with all of them or not at all."""
        sizes = sorted({size for _, size in missing})
        by_ridge = {
            ridge: tuple(size for size in found if (as_recorded(ridge), size) in missing)
            for ridge, found in self.sizes_by_ridge.items()
        }
        by_ridge = {ridge: found for ridge, found in by_ridge.items() if found}
        if self.folds:
            return [Job((repeat, 1 + fold), by_ridge, fold)]
        if self.design == "nested" and (
            self.keep and len(self.ridges) == 1 and sizes[-1] == self.sizes[-1]
        ):
            recorded = frozenset(self.sizes) - frozenset(sizes)
            return [Job((repeat,), self.sizes_by_ridge, is_kept=True, recorded=recorded)]
        if self.design == "nested":
            return [Job((repeat,), by_ridge)]
        return [
            Job(
                independent_key(repeat, size, self.data.n_inputs),
                {ridge: (size,) for ridge, found in by_ridge.items() if size in found},
            )
            for size in sizes
        ]

    def _fold_rng(self, repeat: int) -> Any:
        import numpy as np

        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(repeat, 0)))

    def compute(self, data: Dataset, job: Job, threads: int) -> Result:
        """Train and test a network."""
        from itertools import islice

        repeat = job.key[0]
        if self.folds and job.fold is not None:
            folds = data.folds(self.folds, self._fold_rng(repeat))
            data = next(islice(folds, job.fold, None))
        tested = train_job(self, data, job, threads)
        rows = [
            {"repeat": repeat, "fold": job.fold, **row}
            for scores in tested.scores
            for row in make_rows(data, scores, tested)
            if row["n_hidden"] not in job.recorded
        ]
        kept = pack_network(data, tested.scores) if job.is_kept else None
        return Result(rows, repeat, kept, describe_precision(self, job, tested))

    def select(self, rows: pd.DataFrame) -> pd.DataFrame:
        if not len(rows):
            return rows
        places = self._places(rows)
        is_wanted = (
            (places["repeat"] < self.repeats)
            & places["n_hidden"].isin(self.sizes)
            & places["rule"].isin([as_recorded(ridge) for ridge in self.ridges])
        )
        return self.sort(rows[is_wanted])
