"""Table 2: PI-ELM and LDA-ELM as the paper writes them, and what both take in one pass.

One thread, processor time, two pairs on each network in the order PI, LDA, LDA, PI, so that a drift of
the machine's speed cancels out. What only the first of the four meets, such as fresh memory, does not.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmlda.experiments.experiment import Experiment, Key, Result
from elmlda.experiments.sweep import independent_key
from elmlda.experiments.training import FANOUT_HELP
from elmlda.options import NUMBERS, option, whole

if TYPE_CHECKING:
    from elmlda.core.hidden import HiddenLayer
    from elmlda.datasets import Dataset
    from elmlda.networks.cost import Problem


@dataclass(frozen=True, kw_only=True, repr=False)
class Timing(Experiment):
    """Training and test times of PI-ELM and LDA-ELM, both literally, and of both in one pass.

    The options of `elmlda timing` are its arguments; `elmlda timing --help` explains each. `run`
    returns a DataFrame with a row for each time that a method was timed.
    """

    name = "timing"

    fanout: Any = option("1-10,12,15,20", NUMBERS, FANOUT_HELP)
    pairs: int = option(6, whole(1, 10_000), "Pairs of PI-ELM and LDA-ELM at each size.")

    @property
    def problem(self) -> Problem:
        """The hidden outputs of all training samples are held."""
        one = replace(super().problem, sizes=self.sizes[-1:])
        return replace(one, input_bytes=one.input_bytes + one.itemsize * one.n_train * one.n_hidden)

    def find_wanted(self) -> list[Key]:
        """A network has two pairs, and both methods in one pass with the first."""
        methods = ("pi", "lda", "both"), ("pi", "lda")
        return [
            (pair, size, method)
            for size in self.sizes
            for pair in range(self.pairs)
            for method in methods[pair % 2]
        ]

    def key_of(self, row: Mapping[Any, Any]) -> Key:
        return row["pair"], row["n_hidden"], row["method"]

    def find_jobs(self, missing: Collection[Key], folder: Path) -> list[tuple[int, int]]:
        """Networks by their number and size, small sizes first."""
        return list(dict.fromkeys((pair // 2, size) for pair, size, _ in missing))

    def compute(self, data: Dataset, job: tuple[int, int], threads: int) -> Result:
        """Time two pairs on a network, and both methods in one pass."""
        import numpy as np

        from elmlda.networks.time_pair import time_pair
        from elmlda.networks.train import Recipe, resolve_priors

        assert data.test is not None
        (number, size), (train, test) = job, (data.train, data.test)
        key = independent_key(number, size, data.n_inputs)
        seed = np.random.SeedSequence(self.seed, spawn_key=key)
        recipe = Recipe.for_dataset(data, seed, size, self.settings)
        priors = resolve_priors(self.priors, train.count_classes(data.n_classes))
        n_pairs = min(2, self.pairs - 2 * number)

        def draw_layer() -> HiddenLayer:
            return recipe.draw_layer(train.inputs, train.labels, self.precision)

        timed = time_pair(draw_layer, train, test, priors, self.ridge, n_pairs)
        start = time.process_time()
        both = self.train(data, key, {self.ridge: (size,)}, threads=1)
        cpu_seconds = time.process_time() - start
        timed = [each | {"precision": self.precision} for each in timed]
        one_pass = {"cpu_seconds": cpu_seconds, "seconds": both.seconds, "precision": both.precision}
        timed.append({"position": -1, "method": "both", **one_pass})
        network = {"fanout": size / data.n_inputs, "n_hidden": size}
        pairs = [2 * number + max(0, each["position"]) // 2 for each in timed]
        return Result(
            [{"pair": pair, **network, **each} for pair, each in zip(pairs, timed, strict=True)]
        )
