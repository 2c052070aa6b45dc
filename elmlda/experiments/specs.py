"""Specs: the options of each experiment, and nothing else.

A spec holds no data and no files. `plan` loads the data and returns what is to be computed; `run` and
`dry_run` make a plan and pass it to the runner. The module imports little, so that the command line
shows its help at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from elmlda.datasets import check_source, expand_path
from elmlda.options import (
    FLAG,
    NAMES,
    Choice,
    Choices,
    DataOptions,
    Declaration,
    MachineOptions,
    Names,
    NetworkOptions,
    Numbers,
    OutputOptions,
    SizeOptions,
    checks_names,
    declarations,
    number,
    one_of,
    option,
    or_loo,
    whole,
    with_default,
)

if TYPE_CHECKING:
    import pandas as pd

    from elmlda.experiments.runner import Plan


class Spec(NetworkOptions, DataOptions, ABC):
    """Options of a command that makes runs."""

    name: ClassVar[str]
    """Name of the command and of the results table."""

    def __post_init__(self) -> None:
        super().__post_init__()
        sources: Any = [self.dataset] if isinstance(self, Experiment) else self.dataset
        for source in sources:
            check_source(source)

    @abstractmethod
    def plans(self, folder: str | Path | None = None) -> list[tuple[Path, Plan]]:
        """Load the data and return the folder and the plan of each run; refuse what cannot work."""

    @checks_names
    def run(
        self,
        folder: str | Path | None = None,
        *,
        jobs: int = 1,
        threads: int | None = None,
        cluster: str | None = None,
        progress: bool = False,
    ) -> pd.DataFrame:
        """Compute the rows that the folder lacks, and return all requested rows.

        The columns are those of the folder's CSV file; for several runs, a first column names the data
        set.

        Parameters
        ----------
        folder : the run's folder; default: results/ and the data set's name
        jobs : number of networks to train at a time, each in a process of its own
        threads : BLAS threads of each network; default: the number of cores divided by `jobs`
        cluster : address or file of a Dask scheduler whose workers train the networks
        progress : whether to show a progress bar on stderr
        """
        import pandas as pd

        from elmlda.experiments.runner import run_plan

        machine = MachineOptions(jobs=jobs, threads=threads, cluster=cluster)
        rows = {f.name: run_plan(plan, f, machine, progress) for f, plan in self.plans(folder)}
        if isinstance(self, Experiment):
            return next(iter(rows.values()))
        return pd.concat(rows, names=["dataset"]).reset_index(level=0).reset_index(drop=True)

    def dry_run(self, folder: str | Path | None = None, **machine: Any) -> Any:
        """Return what `run` would compute and the time and memory that it would take."""
        from elmlda.experiments.runner import preview

        options = MachineOptions(**machine)
        previews = [preview(plan, subfolder, options) for subfolder, plan in self.plans(folder)]
        return previews[0] if isinstance(self, Experiment) else previews


class Experiment(Spec):
    """Options of an experiment, which makes one run."""

    @abstractmethod
    def plan(self) -> Plan:
        """Load the data and return what is to be computed; refuse what cannot work."""

    def plans(self, folder: str | Path | None = None) -> list[tuple[Path, Plan]]:
        plan = self.plan()
        return [(expand_path(folder) if folder else plan.folder, plan)]


class Sweep(SizeOptions, Experiment):
    """Test errors of PI-ELM and LDA-ELM on the same weights (Table 1).

    Each network's rows are in the run's folder as soon as the network is tested. The same command
    continues the run; fan-outs and repeats may grow.
    """

    name = "sweep"

    repeats: int = option(200, whole(1, 10_000), "Number of random networks.", "extent")
    ridge: Choices = with_default(
        OutputOptions,
        "ridge",
        0.0,
        constraint=or_loo(number(), several=True),
        help="Added to the Gram matrix's diagonal; loo chooses it. Several with commas.",
    )
    temperature: Choice = with_default(OutputOptions, "temperature", 1.0)
    folds: int | None = option(
        None,
        whole(2, 10_000),
        "Cross-validation folds, for data without a test part.",
        "experiment",
    )
    design: str = option(
        "nested",
        one_of("nested", "independent"),
        "nested: the network of fan-out f is the first part of one large network, which is fast. "
        "independent: new weights for each fan-out, as in the paper.",
        "experiment",
        changes_draw=True,
        stated_by_paper=None,
        is_rare=True,
        excludes="folds",
    )
    validation: int | None = option(
        None,
        whole(),
        "Test on N held-out training samples.",
        "experiment",
        is_rare=True,
        excludes="folds",
    )
    keep: bool = option(
        True, FLAG, "Keep test posteriors and wrong answers, for ensembles.", "extent", is_rare=True
    )

    def plan(self) -> Plan:
        from elmlda.experiments.sweep import plan_sweep

        return plan_sweep(self)


class Ensemble(SizeOptions, Experiment):
    """Test errors of LDA-ELM networks that are combined (Figure 2).

    Networks are combined by the mean of their posteriors. Member i of repeat r is network r·n + i of
    the run. Networks of this size that a sweep has kept in the run's folder are not trained again.
    """

    name = "ensemble"

    n: int = option(20, whole(1, 10_000), "Networks in the largest ensemble.", "experiment")
    fanout: int = option(20, whole(), "Hidden units per input.", "extent")
    hidden: int | None = option(
        None, whole(), "Hidden units instead of --fanout.", "extent", excludes="fanout"
    )
    repeats: int = option(10, whole(1, 10_000), "Number of ensembles of new networks.", "extent")
    draws: int = option(
        0,
        whole(0, 1_000_000),
        "Also combine this many random subsets of all networks.",
        "extent",
        is_rare=True,
    )
    ridge: Choice = with_default(OutputOptions, "ridge", 0.0)
    temperature: Choice = with_default(OutputOptions, "temperature", 1.0)

    def plan(self) -> Plan:
        from elmlda.experiments.ensemble import plan_ensemble

        return plan_ensemble(self)


class Timing(SizeOptions, Experiment):
    """Times of PI-ELM and LDA-ELM as the paper writes them (Table 2).

    Both methods in one pass are timed too. All times are of one thread, and PI-ELM is first in half of
    the pairs. Keep the machine idle meanwhile.
    """

    name = "timing"

    fanout: Numbers = with_default(SizeOptions, "fanout", "1-10,12,15,20")
    pairs: int = option(
        6, whole(1, 10_000), "Number of pairs of PI-ELM and LDA-ELM at each size.", "extent"
    )
    ridge: float = with_default(OutputOptions, "ridge", 0.0, constraint=number())

    def plan(self) -> Plan:
        from elmlda.experiments.timing import plan_timing

        return plan_timing(self)


class Compare(SizeOptions, Spec):
    """Test errors of PI-ELM and LDA-ELM on several data sets.

    A data set with a test part keeps it; any other gets repeated stratified cross-validation. Each data
    set is a run in a folder of its own, and one report shows all runs.
    """

    name = "compare"

    dataset: Names = option(  # type: ignore[assignment]
        ("iris", "wine", "abalone", "satimage"), NAMES, "Data sets or your own files.", "data"
    )
    fanout: Numbers = with_default(SizeOptions, "fanout", "1-5,10,20")
    ridge: Choices = with_default(Sweep, "ridge", (0.0, "loo"))
    temperature: Choice = with_default(OutputOptions, "temperature", 1.0)
    folds: int = option(
        10, whole(2, 10_000), "Number of folds, for data sets without a test part.", "experiment"
    )
    repeats: int = option(10, whole(1, 10_000), "Number of cross-validations or networks.", "extent")

    def plans(self, folder: str | Path | None = None) -> list[tuple[Path, Plan]]:
        from elmlda.experiments.sweep import plan_sweeps

        return plan_sweeps(self, expand_path(folder or "results/compared"))


SPECS: tuple[type[Spec], ...] = (Sweep, Ensemble, Timing, Compare)


def list_options() -> dict[str, Declaration]:
    """Return the declarations of all options that a manifest may record, by name."""
    return {
        name: declared
        for kind in reversed(SPECS)  # a sweep has every network option
        for name, declared in declarations(kind).items()
        if declared.scope in ("network", "experiment")
    }
