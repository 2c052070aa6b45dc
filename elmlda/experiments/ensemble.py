"""Fig. 2: LDA-ELM networks combined by their posterior probabilities.

Member i of repeat r is network r·n + i of the run. What a sweep at the same size has kept in the folder
is used; only networks that are missing are trained.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmlda.errors import ElmldaError
from elmlda.experiments.experiment import Experiment
from elmlda.experiments.job import (
    Job,
    Result,
    describe_network,
    describe_precision,
    pack_network,
    refuse_two_sizes,
    require_possible,
    require_samples,
    train_job,
)
from elmlda.options import COMBINATIONS, option, optional, ridges, some_of, whole

if TYPE_CHECKING:
    import pandas as pd

    from elmlda.datasets import Dataset
    from elmlda.networks.cost import Problem
    from elmlda.runs.folder import Run

MOST_NETWORKS = 100_000
"""All of them are listed before the first is trained."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Ensemble(Experiment):
    """LDA-ELM networks combined by their posterior probabilities, test errors counted.

    The options of `elmlda ensemble` are its arguments; `elmlda ensemble --help` explains each. `run`
    returns a DataFrame with a row for each repeat, number of networks and way of combining.
    """

    name = "ensemble"
    row_key = ("repeat", "size", "combine")

    n: int = option(
        20, whole(1, 10_000), "Networks in the largest ensemble; all sizes up to it are evaluated."
    )
    fanout: int = option(20, whole(), "Hidden units for each input.")
    hidden: int | None = option(None, optional(whole()), "Number of hidden units instead of --fanout.")
    repeats: int = option(10, whole(1, 10_000), "Ensembles of new networks; the paper has 10.")
    combine: Any = option(
        "mean",
        some_of(*COMBINATIONS),
        f"How posteriors are combined: {', '.join(COMBINATIONS)}; several with commas.",
    )
    draws: int = option(
        0,
        whole(0, 1_000_000),
        "Also combine this many random subsets of all kept networks, for draws.csv.",
    )
    ridge: Any = option(
        0.0, ridges(several=False), "Added to the diagonal of the Gram matrix; 0 is the paper's."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_two_sizes(self)
        if self.repeats * self.n > MOST_NETWORKS:
            raise ElmldaError(
                f"{self.repeats:,} ensembles of {self.n:,} are more than {MOST_NETWORKS:,} networks.",
                "Lower {n} or {repeats}.",
                n=None,
                repeats=None,
            )

    @cached_property
    def n_hidden(self) -> int:
        return self.hidden or self.fanout * self.data.n_inputs

    def own_settings(self) -> dict[str, Any]:
        return {"n": self.n, "n_hidden": self.n_hidden}

    @property
    def n_wanted(self) -> int:
        return self.repeats * self.n * len(self.combine)

    def check(self) -> None:
        require_possible(self.data, self.settings)
        if self.ridge == 0:
            require_samples(self.data, self.n_hidden, self.hidden)

    def describe_problem(self) -> Problem:
        return describe_network(self, (self.n_hidden,), has_rule=isinstance(self.ridge, str))

    def find_jobs(self, rows: pd.DataFrame, folder: Path) -> list[Job]:
        """Networks of ensembles without rows that are not kept."""
        from elmlda.runs.kept import read_kept

        place = self.kept_folder(folder)
        needed = [i for repeat in self._open_repeats(rows) for i in self._members(repeat)]
        sizes, kept = (read_kept(place, name, needed) for name in ("sizes", "posteriors"))
        is_there = {i for i in kept if i in sizes and sizes[i][-1] == self.n_hidden}
        return [
            Job((number,), {self.ridge: (self.n_hidden,)}, is_kept=True)
            for number in needed
            if number not in is_there
        ]

    def kept_folder(self, folder: Path) -> Path:
        """Where networks of another size are kept, these have a folder of their own."""
        from elmlda.runs.kept import list_kept, read_kept

        sizes = read_kept(folder, "sizes", list_kept(folder))
        is_same = all(each[-1] == self.n_hidden for each in sizes.values())
        return folder if is_same else folder / f"hidden-{self.n_hidden}"

    def _members(self, repeat: int) -> range:
        return range(repeat * self.n, (repeat + 1) * self.n)

    def _open_repeats(self, rows: pd.DataFrame) -> list[int]:
        """Ensembles without all of their rows."""
        if not len(rows):
            return list(range(self.repeats))
        counts = rows[rows["combine"].isin(self.combine)].groupby("repeat").size()
        n_each = self.n * len(self.combine)
        return [repeat for repeat in range(self.repeats) if counts.get(repeat, 0) < n_each]

    def compute(self, data: Dataset, job: Job, threads: int) -> Result:
        """Train a network and keep its test posteriors."""
        tested = train_job(self, data, job, threads)
        kept = pack_network(data, tested.scores)
        if kept is None:
            raise ElmldaError(
                f"LDA has no solution at {self.n_hidden:,} hidden units in network {job.key[0]}.",
                "Use fewer hidden units, or {ridge} with another {out} for a new run.",
                ridge="1e-3",
                out=None,
            )
        return Result([], job.key[0], kept, describe_precision(self, job, tested))

    def finish(self, run: Run) -> None:
        """Combine the networks of each ensemble that has no rows yet."""
        rows = run.rows(self.table)
        for repeat in self._open_repeats(rows):
            new = [{**row, "machine": run.machine} for row in self._combine(repeat, run.folder)]
            if len(rows):
                its = rows[rows["repeat"] == repeat]
                known = set(zip(its["size"], its["combine"], strict=True))
                new = [row for row in new if (row["size"], row["combine"]) not in known]
            run.append(self.table, new)
        if self.draws:
            run.replace("draws.csv", self._draw(run.folder))

    def _draw(self, folder: Path) -> pd.DataFrame:
        """Errors of random subsets of all networks that are kept at this size."""
        import numpy as np
        import pandas as pd

        from elmlda.core.subsets import draw_subsets
        from elmlda.runs.kept import list_kept, read_kept

        assert self.data.test is not None
        place = self.kept_folder(folder)
        sizes = read_kept(place, "sizes", list_kept(place))
        networks = [number for number, found in sizes.items() if found[-1] == self.n_hidden]
        kept = read_kept(place, "posteriors", networks)
        posteriors = np.stack([kept[number] for number in networks])
        rng, labels = np.random.default_rng(0), self.data.test.labels
        return pd.DataFrame(draw_subsets(posteriors, labels, self.draws, self.n, rng))

    def _combine(self, repeat: int, folder: Path) -> Iterator[dict[str, Any]]:
        """Every ensemble size and way of combining, from one pass over the members."""
        from elmlda.core.calibration import measure_posteriors
        from elmlda.core.evaluate import Combination, count_errors
        from elmlda.networks.train import resolve_priors
        from elmlda.runs.kept import read_kept

        assert self.data.test is not None
        labels = self.data.test.labels
        counts = self.data.train.count_classes(self.data.n_classes)
        priors = resolve_priors(self.priors, counts)
        kept = read_kept(self.kept_folder(folder), "posteriors", self._members(repeat))
        combinations = {scheme: Combination(scheme, priors) for scheme in self.combine}
        for size, number in enumerate(self._members(repeat), start=1):
            for scheme, combination in combinations.items():
                combined = combination.add(kept[number])
                quality = measure_posteriors(combined, labels)
                yield {
                    "repeat": repeat,
                    "size": size,
                    "combine": scheme,
                    "errors": int(count_errors(combined, labels)),
                    "n_test": len(labels),
                    **quality,
                    "tempered_errors": None,
                    **{f"tempered_{name}": None for name in quality},
                }

    def select(self, rows: pd.DataFrame) -> pd.DataFrame:
        if not len(rows):
            return rows
        return self.sort(rows[(rows["repeat"] < self.repeats) & rows["combine"].isin(self.combine)])
