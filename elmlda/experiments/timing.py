"""Table 2: PI-ELM and LDA-ELM as the paper writes them, and what both take in one pass.

One thread, processor time, pairs in the order PI, LDA, LDA, PI, so that a drift of the machine's speed
cancels out. Every pair has networks of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmlda.experiments.experiment import Experiment
from elmlda.experiments.job import (
    Job,
    Result,
    describe_network,
    independent_key,
    refuse_two_sizes,
    require_possible,
    require_samples,
    train_job,
)
from elmlda.experiments.sweep import FANOUT_HELP, HIDDEN_HELP
from elmlda.options import numbers, option, optional, ridges, whole

if TYPE_CHECKING:
    import pandas as pd

    from elmlda.datasets import Dataset
    from elmlda.networks.cost import Problem


@dataclass(frozen=True, kw_only=True, repr=False)
class Timing(Experiment):
    """Training and test times of PI-ELM and LDA-ELM, both literally, and of both in one pass.

    The options of `elmlda timing` are its arguments; `elmlda timing --help` explains each. `run`
    returns a DataFrame with a row for each time that a method was timed.
    """

    name = "timing"
    row_key = ("pair", "n_hidden", "position")

    fanout: Any = option("1-10,12,15,20", numbers("1-20"), FANOUT_HELP)
    hidden: Any = option(None, optional(numbers("100,500")), HIDDEN_HELP)
    pairs: int = option(6, whole(1, 10_000), "Pairs of PI-ELM and LDA-ELM at each fan-out.")
    ridge: Any = option(0.0, ridges(several=False), "Added to the diagonal; 0 is the paper's.")

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_two_sizes(self)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Hidden sizes, ascending."""
        return self.read_sizes(self.fanout, self.hidden)

    @property
    def n_wanted(self) -> int:
        n_networks = -(-self.pairs // 2)
        return (2 * self.pairs + n_networks) * len(self.sizes)

    def check(self) -> None:
        require_possible(self.data, self.settings)
        if self.ridge == 0:
            require_samples(self.data, self.sizes[-1], self.hidden)

    def describe_problem(self) -> Problem:
        """The hidden outputs of all training samples are held."""
        from dataclasses import replace

        problem = describe_network(self, (self.sizes[-1],))
        held = problem.itemsize * problem.n_train * problem.n_hidden
        return replace(problem, input_bytes=problem.input_bytes + held)

    def find_jobs(self, rows: pd.DataFrame, folder: Path) -> list[Job]:
        """Networks whose pairs are not recorded, small sizes first; each has two pairs."""
        done = set(zip(rows["pair"], rows["n_hidden"], strict=True)) if len(rows) else set()
        return [
            Job(independent_key(pair // 2, size, self.data.n_inputs), {self.ridge: (size,)})
            for size in self.sizes
            for pair in range(0, self.pairs, 2)
            if (min(pair + 1, self.pairs - 1), size) not in done
        ]

    def compute(self, data: Dataset, job: Job, threads: int) -> Result:
        """Time a pair, and both methods in one pass."""
        import time

        import numpy as np

        from elmlda.networks.time_pair import time_pair
        from elmlda.networks.train import Recipe, resolve_priors

        assert data.test is not None
        (size,), first = job.sizes, 2 * job.key[0]
        seed = np.random.SeedSequence(self.seed, spawn_key=job.key)
        recipe = Recipe.for_dataset(data, seed, size, self.settings)
        train, test = data.train, data.test
        priors = resolve_priors(self.priors, train.count_classes(data.n_classes))
        n_pairs = min(2, self.pairs - first)
        timed = time_pair(
            lambda: recipe.draw_layer(train.inputs, train.labels),
            train,
            test,
            priors,
            self.ridge,
            n_pairs,
        )
        start = time.process_time()
        both = train_job(self, data, job, 1)
        times = [
            *(
                (each.position, each.method, each.cpu_seconds, each.seconds, each.test_seconds)
                for each in timed
            ),
            (-1, "both", time.process_time() - start, both.seconds, None),
        ]
        return Result(
            [
                {
                    "pair": first + position // 2 if position >= 0 else first,
                    "position": position,
                    "fanout": size / data.n_inputs,
                    "n_hidden": size,
                    "method": method,
                    "cpu_seconds": cpu_seconds,
                    "seconds": seconds,
                    "test_seconds": test_seconds,
                    "precision": recipe.precision,
                }
                for position, method, cpu_seconds, seconds, test_seconds in times
            ]
        )

    def select(self, rows: pd.DataFrame) -> pd.DataFrame:
        if not len(rows):
            return rows
        return self.sort(rows[(rows["pair"] < self.pairs) & rows["n_hidden"].isin(self.sizes)])
