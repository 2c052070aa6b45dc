"""The commands that make, check and report runs: sweep, ensemble, timing, compare, verify, report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda import stop
from elmlda.cli.options import Command, build, options_of, run_options
from elmlda.cli.terminal import say
from elmlda.errors import ElmldaError
from elmlda.experiments import specs
from elmlda.settings import MachineOptions

if TYPE_CHECKING:
    from elmlda.experiments.plan import Plan

FORMATS = ("csv", "svg", "md", "html", "png")
OWN, SHIPPED = Path("results/mnist"), Path("results/paper")
"""Default folder of runs on MNIST, and the registered run of a clone."""


def make_command(kind: type[specs.Spec], help: str) -> click.Command:
    """Return a command that makes runs; its options are those of the class."""

    @click.command(kind.name, cls=Command, help=help)
    @options_of(kind)
    @run_options
    def command(**given: Any) -> None:
        spec, machine = build(kind, given), build(MachineOptions, given)
        is_shown = not given["quiet"] and not given["dry_run"]
        if is_shown:
            datasets: Any = spec.dataset if kind.is_group else [spec.dataset]
            say(f"Loading {', '.join(map(str, datasets))}.", err=True)
        plans = spec.plans(given["out"])
        for folder, plan in plans:
            _carry_out(plan, folder, machine, given)
        if is_shown:
            folder = plans[0][0].parent if kind.is_group else plans[0][0]
            say(f"Next: elmlda report {shlex.quote(str(folder))}")

    return command


sweep = make_command(
    specs.Sweep,
    """Count test errors of PI-ELM and LDA-ELM on the same weights (Table 1).

    Each network's rows are in the run's folder as soon as the network is tested. The same command
    continues the run; --repeats and --fanout may grow.
    """,
)
ensemble = make_command(
    specs.Ensemble,
    """Count test errors of LDA-ELM networks combined by their mean posteriors (Fig. 2).

    Member i of repeat r is network r·n + i of the run. Networks of this size that a sweep has kept
    in the run's folder are used; only missing networks are trained.
    """,
)
timing = make_command(
    specs.Timing,
    """Time PI-ELM and LDA-ELM as the paper writes them, and both in one pass (Table 2).

    One thread, processor time, pairs in the order PI, LDA, LDA, PI. Keep the machine idle meanwhile.
    """,
)


compare = make_command(
    specs.Compare,
    """Compare PI-ELM with LDA-ELM on several data sets.

    Sets with a test part of their own keep it; others get repeated stratified cross-validation. Each
    set is a run in a folder of its own; elmlda report makes a page of all.
    """,
)


@click.command(cls=Command)
@click.argument("folder", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--n", default=12, show_default=True, type=click.IntRange(1), help="Rows to recompute.")
@click.option("--fanout", type=click.IntRange(1), help="Only rows up to this fan-out, which are fast.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Chooses the rows.")
@click.option("--dataset", metavar="PATH", help="The run's own data, if they are not in this folder.")
def verify(folder: Path, n: int, fanout: int | None, seed: int, dataset: str | None) -> None:
    """Recompute random rows of a RUN by the paper's equations, in float64.

    The code that trained the run is not used. Counts may differ by one or two if the run was computed
    in float32 or on another processor; the exit code is 1 if a count differs by more.
    """
    import numpy as np

    from elmlda.verify import find_differences, verify_run

    rng = np.random.default_rng(seed)
    rows = verify_run(folder, n, rng, fanout_up_to=fanout, data=dataset, progress=True)
    say(rows.drop(columns=["precision", "n_test"]).dropna(axis=1, how="all").to_string(index=False))
    off = find_differences(rows)
    worst = off.max(initial=0)
    say(
        f"{len(rows)} records recomputed, {len(off)} counts: {(off == 0).sum()} equal, "
        f"{(off == 1).sum()} off by one, the worst off by {worst}."
    )
    if worst > 2:
        click.get_current_context().exit(1)


@click.command(cls=Command)
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN]...")
@click.option(
    "--format",
    "formats",
    type=click.Choice(FORMATS),
    multiple=True,
    help="Make only this; may be given several times.  [default: all but png]",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser afterwards.")
def report(runs: tuple[Path, ...], formats: tuple[str, ...], opens: bool) -> None:
    """Make tables, figures and pages beside the paper's from the rows in each RUN's folder.

    RUN is the folder of a run, or one with several runs in it, such as that of elmlda compare; without
    one, results/mnist. Nothing is trained: the report of an unfinished run shows what there is.
    """
    from elmlda.reports import report as make_report

    if opens and formats and "html" not in formats:
        raise click.UsageError("--open needs the page: add --format html.")
    if not runs and not OWN.exists():
        shipped = f", or name {SHIPPED}, which comes with elmlda" if SHIPPED.exists() else ""
        raise ElmldaError(f"{OWN}: no run of yours is there. Make one with elmlda sweep{shipped}.")
    for folder in runs or [OWN]:
        say(make_report(folder, formats or None))
        if opens:
            click.launch((folder / "report.html").absolute().as_uri())


def _carry_out(plan: Plan, folder: Path, machine: MachineOptions, given: dict[str, Any]) -> None:
    """Run a plan and show its rows, or say what running it would take."""
    from elmlda.experiments.runner import count, open_bar, preview, run_plan
    from elmlda.reports.load import matches_paper
    from elmlda.reports.summary import summarise

    expected = preview(plan, folder, machine)
    if given["dry_run"]:
        say(expected)
        return
    total = expected.n_networks
    what = f"{count(total, 'network')} to train, {expected.needs}"
    if not total:
        what = f"{count(expected.n_recorded, 'row')} there, no network to train"
    if not given["quiet"]:
        say(f"{folder}: {what}.", err=True)
    bar = open_bar(total, not given["quiet"])
    stop.describe = lambda: (
        f"{bar.n:,} of {count(total, 'network')} {'is' if total == 1 else 'are'} recorded in {folder}. "
        "The same command continues from there."
    )
    rows = run_plan(plan, folder, machine, bar)
    if not given["quiet"] and len(rows):
        is_papers = matches_paper(plan.identity.run, plan.identity.own)
        say(f"{summarise(plan.table, rows, is_papers)}\n")
        say(f"Rows: {folder / plan.table.name}.csv")
