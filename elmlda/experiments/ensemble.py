"""Fig. 2: LDA-ELM networks combined by the mean of their posterior probabilities.

Member i of repeat r is network r·n + i of the run. What a sweep at the same size has kept in the folder
is used; only networks that are missing are trained.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmlda.errors import ElmldaError
from elmlda.experiments.experiment import Experiment, Key, Result
from elmlda.experiments.sweep import pack_network
from elmlda.options import option, whole

if TYPE_CHECKING:
    from elmlda.datasets import Dataset
    from elmlda.runs.folder import Run


@dataclass(frozen=True, kw_only=True, repr=False)
class Ensemble(Experiment):
    """LDA-ELM networks combined by the mean of their posteriors, test errors counted.

    The options of `elmlda ensemble` are its arguments; `elmlda ensemble --help` explains each. `run`
    returns a DataFrame with a row for each repeat and number of networks.
    """

    name = "ensemble"

    n: int = option(
        20, whole(1, 10_000), "Networks in the largest ensemble; all sizes up to it are evaluated."
    )
    fanout: int = option(20, whole(), "Hidden units for each input.")
    hidden: int | None = option(None, whole(), "Hidden units instead of --fanout.")
    repeats: int = option(10, whole(1, 10_000), "Ensembles of new networks.")
    draws: int = option(
        0,
        whole(0, 1_000_000),
        "Also combine this many random subsets of all networks.",
    )

    @property
    def n_hidden(self) -> int:
        return self.sizes[-1]

    def own_settings(self) -> dict[str, Any]:
        own: dict[str, Any] = {"n": self.n, "n_hidden": self.n_hidden}
        return own | ({"temperature": self.temperature} if self.is_tempered else {})

    @property
    def is_tempered(self) -> bool:
        """Whether tempered posteriors are combined, beside the paper's."""
        return bool(self.temperature != 1)

    def find_wanted(self) -> list[Key]:
        return list(product(range(self.repeats), range(1, self.n + 1)))

    def key_of(self, row: Mapping[Any, Any]) -> Key:
        return row["repeat"], row["size"]

    def find_jobs(self, missing: Collection[Key], folder: Path) -> list[int]:
        """Numbers of the networks of ensembles without all rows, but for those that are kept."""
        from elmlda.runs.kept import read_kept

        needed = [number for repeat in _find_repeats(missing) for number in self._members(repeat)]
        posteriors = "tempered" if self.is_tempered else "posteriors"
        sizes, kept = (read_kept(folder, name, needed) for name in ("sizes", posteriors))
        if other := {int(found[-1]) for found in sizes.values()} - {self.n_hidden}:
            raise ElmldaError(
                f"{folder} keeps networks of {max(other):,} hidden units, this ensemble's have "
                f"{self.n_hidden:,}.",
                "Use another {out} for it.",
                out=None,
            )
        return [number for number in needed if number not in kept]

    def _members(self, repeat: int) -> range:
        return range(repeat * self.n, (repeat + 1) * self.n)

    def compute(self, data: Dataset, job: int, threads: int) -> Result:
        """Train a network and keep its test posteriors."""
        n_hidden = self.hidden or self.fanout * data.n_inputs
        tested = self.train(data, (job,), {self.ridge: (n_hidden,)}, threads)
        kept = pack_network(data, tested)
        if kept is None:
            raise ElmldaError(
                f"LDA has no solution at {n_hidden:,} hidden units in network {job}.",
                "Use fewer hidden units, or {ridge} with another {out} for a new run.",
                ridge="1e-3",
                out=None,
            )
        if self.is_tempered and "tempered" not in kept:
            raise ElmldaError(
                f"no temperature can be chosen at {n_hidden:,} hidden units in network {job}.",
                "Use fewer hidden units, or {temperature} with another {out} for a new run.",
                temperature="1",
                out=None,
            )
        return Result([], job, kept)

    def finish(self, run: Run, missing: Collection[Key]) -> None:
        """Combine the networks of each ensemble that has not all of its rows."""
        for repeat in _find_repeats(missing):
            self.append(run, list(self._average(repeat, run.folder)), missing)
        if self.draws:
            (run.folder / "draws.csv").unlink(missing_ok=True)
            run.append("draws", self._draw(run.folder))

    def _draw(self, folder: Path) -> list[dict[str, Any]]:
        """Errors of random subsets of all networks that are kept at this size."""
        import numpy as np

        from elmlda.core.subsets import draw_subsets
        from elmlda.runs.kept import list_kept, read_kept

        assert self.data.test is not None
        sizes = read_kept(folder, "sizes", list_kept(folder))
        networks = [number for number, found in sizes.items() if found[-1] == self.n_hidden]
        kept = read_kept(folder, "posteriors", networks)
        posteriors = np.stack([kept[number] for number in networks])
        rng, labels = np.random.default_rng(0), self.data.test.labels
        columns = draw_subsets(posteriors, labels, self.draws, self.n, rng)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _average(self, repeat: int, folder: Path) -> Iterator[dict[str, Any]]:
        """Every ensemble size, from one pass over the members."""
        import numpy as np

        from elmlda.core.evaluate import SMALLEST, count_errors, measure_posteriors
        from elmlda.runs.kept import read_kept

        assert self.data.test is not None
        labels = self.data.test.labels
        prefixes = {"posteriors": ""} | ({"tempered": "tempered_"} if self.is_tempered else {})
        kept = {name: read_kept(folder, name, self._members(repeat)) for name in prefixes}
        sums = {name: np.zeros((len(labels), self.data.n_classes)) for name in prefixes}
        truth = read_kept(folder, "truth", self._members(repeat))
        log_sums = np.full(len(labels), -np.inf)
        for size, number in enumerate(self._members(repeat), start=1):
            row: dict[str, Any] = {"repeat": repeat, "size": size, "n_test": len(labels)}
            for name, prefix in prefixes.items():
                sums[name] += kept[name][number]
                mean = sums[name] / size
                row[f"{prefix}errors"] = int(count_errors(mean, labels))
                qualities = measure_posteriors(mean, labels)
                row |= {f"{prefix}{quality}": value for quality, value in qualities.items()}
            # Float16 has small posteriors as zero. Without `truth` the log-loss is not known.
            with np.errstate(invalid="ignore"):
                log_sums = np.logaddexp(log_sums, truth.get(number, np.nan))
            losses = np.minimum(np.log(size) - log_sums, -np.log(SMALLEST))
            row["log_loss"] = float(losses.mean())
            yield row


def _find_repeats(missing: Collection[Key]) -> list[int]:
    """Ensembles without all of their rows."""
    return list(dict.fromkeys(repeat for repeat, _ in missing))
