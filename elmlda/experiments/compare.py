"""The paper's further work: PI-ELM against LDA-ELM on other data sets, a sweep for each.

A set with a test part of its own keeps it, and repeats are networks; one without is divided by repeated
stratified cross-validation.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmlda.errors import ElmldaError
from elmlda.experiments.experiment import DryRun
from elmlda.experiments.sweep import Sweep
from elmlda.experiments.training import FANOUT_HELP, Training
from elmlda.options import NAMES, NUMBERS, number, option, or_loo, whole

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path("results/compare")


@dataclass(frozen=True, kw_only=True, repr=False)
class Compare(Training):
    """PI-ELM against LDA-ELM on several data sets, each a run in a folder of its own.

    The options of `elmlda compare` are its arguments; `elmlda compare --help` explains each. `run`
    returns a DataFrame with the rows of all sweeps and a column that names the data set.
    """

    dataset: Any = option(
        ("iris", "wine", "abalone", "satimage"),
        NAMES,
        "Data sets or your own files, with commas.",
    )
    fanout: Any = option("1-5,10,20", NUMBERS, FANOUT_HELP)
    folds: int = option(10, whole(2, 10_000), "Folds, for sets without a test part.")
    repeats: int = option(10, whole(1, 10_000), "Cross-validations, or networks.")
    ridge: Any = option(
        (0.0, "loo"), or_loo(number(), several=True), "Ridges, or loo, which chooses one; with commas."
    )

    def sweeps(self, folder: str | Path | None) -> list[tuple[Path, Sweep]]:
        """The folder and the sweep of each data set, once all of them are known to be possible."""
        from elmlda.networks.classify import is_table

        shared = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.hidden:
            del shared["fanout"]
        found: dict[Path, Sweep] = {}
        tables = [name for name in self.dataset if is_table(Path(name))]
        for name in self.dataset:
            # Beside a table the columns are the table's; without one, loading refuses them.
            columns = {"label": None, "drop": ()} if tables and name not in tables else {}
            sweep = Sweep(**shared | columns | {"dataset": name, "keep": False, "folds": None})
            if sweep.loaded.test is None:
                sweep = replace(sweep, folds=self.folds)
            sweep.check()
            where = Path(folder or FOLDER).expanduser() / sweep.loaded.name
            if where in found:
                raise ElmldaError(
                    f"{found[where].dataset} and {name} would share the folder {where}.",
                    "Rename one of them, or give it another {out} by itself.",
                    out=None,
                )
            found[where] = sweep
        return [*found.items()]

    def run(self, folder: str | Path | None = None, **machine: Any) -> pd.DataFrame:
        """Compute what is missing, and return all rows; parameters are those of `Sweep.run`."""
        import pandas as pd

        found = {where.name: sweep.run(where, **machine) for where, sweep in self.sweeps(folder)}
        return pd.concat(found, names=["dataset"]).reset_index(level=0).reset_index(drop=True)

    def dry_run(self, folder: str | Path | None = None, **machine: Any) -> list[DryRun]:
        """What `run` would do and take, for each data set."""
        return [sweep.dry_run(where, **machine) for where, sweep in self.sweeps(folder)]
