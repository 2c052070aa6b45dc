"""The commands that make, check and report runs: sweep, ensemble, timing, compare, verify, report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from elmlda import stop
from elmlda.cli.options import (
    DATA,
    Command,
    build,
    options_of,
    rare_options,
    run_options,
)
from elmlda.cli.terminal import say, show_rows
from elmlda.errors import ElmldaError
from elmlda.experiments.compare import FOLDER, Compare
from elmlda.experiments.ensemble import Ensemble
from elmlda.experiments.experiment import DryRun, Experiment, count, open_bar
from elmlda.experiments.pool import Machine
from elmlda.experiments.sweep import Sweep
from elmlda.experiments.timing import Timing

FORMATS = ("csv", "svg", "md", "html", "png")
OWN, SHIPPED = Path("results/mnist"), Path("results/paper")
"""The folder that runs on MNIST have unless another is given, and the registered run of a clone."""


@click.command(cls=Command)
@options_of(Sweep, f"fanout hidden repeats ridge temperature folds {DATA}")
@run_options()
@rare_options(Sweep, "design validation keep")
def sweep(**given: Any) -> None:
    """Count test errors of PI-ELM and LDA-ELM on the same weights (Table 1).

    Each network's rows are in the run's folder as soon as it is tested. The same command again
    continues the run; --repeats and --fanout may grow.
    """
    conduct(build(Sweep, given), given)


@click.command(cls=Command)
@options_of(Ensemble, f"n fanout hidden repeats draws ridge temperature {DATA}")
@run_options()
@rare_options(Ensemble)
def ensemble(**given: Any) -> None:
    """Count test errors of LDA-ELM networks combined by their mean posteriors (Fig. 2).

    Member i of repeat r is network r·n + i of the run. What a sweep at the same fan-out has kept in
    the run's folder is used; only the networks that are missing are trained.
    """
    conduct(build(Ensemble, given), given)


@click.command(cls=Command)
@options_of(Timing, f"fanout hidden pairs ridge {DATA}")
@run_options()
@rare_options(Timing)
def timing(**given: Any) -> None:
    """Time PI-ELM and LDA-ELM as the paper writes them, and both in one pass (Table 2).

    One thread, processor time, pairs in the order PI, LDA, LDA, PI. Keep the machine idle meanwhile.
    """
    conduct(build(Timing, given), given)


@click.command(cls=Command)
@options_of(Compare, f"{DATA} fanout hidden ridge folds repeats")
@run_options("Folder with a run for each data set; runs go on.")
@rare_options(Compare)
def compare(**given: Any) -> None:
    """Compare PI-ELM with LDA-ELM on several data sets.

    Sets with a test part of their own keep it; others get repeated stratified cross-validation. Each
    set is a run in a folder of its own; elmlda report makes a page of all.
    """
    experiment = build(Compare, given)
    build(Machine, given)  # wrong options are told before data are loaded
    _say_loading(experiment.dataset, given)
    for where, part in experiment.sweeps(given["out"]):
        conduct(part, given | {"out": where}, is_part=True)
    _say_next(given["out"] or FOLDER, given)


@click.command(cls=Command)
@click.argument("folder", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--n", default=12, show_default=True, type=click.IntRange(1), help="Rows to recompute.")
@click.option("--fanout", type=click.IntRange(1), help="Only rows up to this fan-out, which are fast.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Chooses the rows.")
def verify(folder: Path, n: int, fanout: int | None, seed: int) -> None:
    """Recompute random rows of a RUN by the paper's equations, in float64.

    Nothing that trained the run is used for it. Counts may differ by one or two where the run was
    computed in float32 or on another processor; the exit code is 1 if one differs by more.
    """
    import numpy as np

    from elmlda.verify import find_differences, verify_run

    rows = verify_run(folder, n, np.random.default_rng(seed), fanout_up_to=fanout, progress=True)
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
    one, results/mnist. Nothing is trained: a run that is not finished gives a report of what it has.
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


def conduct(experiment: Experiment, given: dict[str, Any], *, is_part: bool = False) -> None:
    """Run an experiment, or say what that would take."""
    machine = vars(build(Machine, given))
    if not is_part:
        _say_loading([experiment.dataset], given)
    plan = experiment.dry_run(given["out"], **machine)
    if given["dry_run"]:
        say(plan)
        return
    quiet = given["quiet"]
    if not quiet:
        say(_describe_start(plan), err=True)
    bar = open_bar(plan.n_networks, not quiet)
    stop.describe = lambda: _describe_end(bar.n, plan.n_networks, plan.folder)
    rows = experiment.run(given["out"], progress=bar, **machine)
    if not quiet and len(rows):
        say(f"{show_rows(experiment.name, plan.folder, rows)}\n")
        say(f"Rows: {plan.folder / experiment.name}.csv")
    if not is_part:
        _say_next(plan.folder, given)


def _say_loading(datasets: Any, given: dict[str, Any]) -> None:
    if not given["quiet"] and not given["dry_run"]:
        say(f"Loading {', '.join(map(str, datasets))}.", err=True)


def _describe_start(plan: DryRun) -> str:
    """One line: the folder, the networks to train, memory and time."""
    if not plan.n_networks:
        return f"{plan.folder}: {count(plan.n_recorded, 'row')} there, no network to train."
    return f"{plan.folder}: {count(plan.n_networks, 'network')} to train, {plan.needs}."


def _describe_end(done: int, total: int, folder: Path) -> str:
    are = "is" if total == 1 else "are"
    where = f"recorded in {folder}. The same command goes on from there."
    return f"{done:,} of {count(total, 'network')} {are} {where}"


def _say_next(folder: Path, given: dict[str, Any]) -> None:
    """What to do with the rows."""
    if not given["quiet"] and not given["dry_run"]:
        say(f"Next: elmlda report {shlex.quote(str(folder))}")
