"""The commands that run experiments: sweep, ensemble, timing, compare."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from elmlda import stop
from elmlda.cli.options import DATA, NETWORK, Command, build, options_of, run_options, spell_command
from elmlda.cli.tables import show_rows
from elmlda.cli.terminal import say
from elmlda.experiments.compare import FOLDER, Compare
from elmlda.experiments.ensemble import Ensemble
from elmlda.experiments.experiment import DryRun, Experiment, count
from elmlda.experiments.pool import Machine
from elmlda.experiments.sweep import Sweep
from elmlda.experiments.timing import Timing


@click.command(cls=Command)
@options_of(Sweep, f"fanout hidden repeats {DATA} folds validation keep")
@options_of(Sweep, f"ridge design {NETWORK}", "Network")
@run_options()
def sweep(**given: Any) -> None:
    """Train PI-ELM and LDA-ELM on the same random input weights and count test errors (Table 1).

    Writes sweep.csv and manifest.json into the run's folder, each network's rows as soon as it is
    tested. The same command again continues the run; --repeats and --fanout may grow.
    """
    conduct(build(Sweep, given), given)


@click.command(cls=Command)
@options_of(Ensemble, f"n fanout hidden repeats combine draws {DATA}")
@options_of(Ensemble, f"ridge {NETWORK}", "Network")
@run_options()
def ensemble(**given: Any) -> None:
    """Combine LDA-ELM networks by their posterior probabilities and count test errors (Fig. 2).

    Member i of repeat r is network r·n + i of the run. What a sweep at the same fan-out has kept in
    the run's folder is used; only the networks that are missing are trained.
    """
    conduct(build(Ensemble, given), given)


@click.command(cls=Command)
@options_of(Timing, f"fanout hidden pairs {DATA}")
@options_of(Timing, f"ridge {NETWORK}", "Network")
@run_options()
def timing(**given: Any) -> None:
    """Time PI-ELM and LDA-ELM, both as the paper writes them, and both in one pass (Table 2).

    One thread, processor time, pairs in the order PI, LDA, LDA, PI. Keep the machine idle meanwhile.
    """
    conduct(build(Timing, given), given)


@click.command(cls=Command)
@options_of(Compare, "dataset label drop fanout hidden folds repeats")
@options_of(Compare, f"ridge {NETWORK}", "Network")
@run_options("Folder with a run for each data set; runs that are there go on.")
def compare(**given: Any) -> None:
    """Compare PI-ELM with LDA-ELM on the same weights and splits of several data sets.

    Sets with a test part of their own keep it; others get repeated stratified cross-validation. Each
    set is a run in a folder of its own; elmlda report makes a page of all.
    """
    experiment = build(Compare, given)
    for part in experiment.sweeps():
        if not given["quiet"]:
            say(f"{part.loaded.name}:", err=True)
        conduct(part, given | {"out": experiment.find_folder(given["out"], part)}, is_last=False)
    say_next(given["out"] or FOLDER, given)


def conduct(experiment: Experiment, given: dict[str, Any], *, is_last: bool = True) -> None:
    """Run an experiment, or say what that would take."""
    machine = vars(build(Machine, given))
    stop.expect_workers(machine["jobs"])
    plan = experiment.dry_run(given["out"], **machine)
    if given["dry_run"]:
        say(plan)
        return
    quiet = given["quiet"]
    if not quiet:
        say(describe_start(plan), err=True)
    bar = _open_bar(plan, quiet)
    rows = experiment.run(given["out"], progress=bar, command=spell_command(), **machine)
    if quiet or not len(rows):
        return
    say(f"{show_rows(experiment, rows)}\n\nRows: {plan.folder / experiment.table}")
    if is_last:
        say_next(plan.folder, given)


def say_next(folder: Path, given: dict[str, Any]) -> None:
    """What to do with the rows."""
    if not given["quiet"] and not given["dry_run"]:
        say(f"Next: elmlda report {shlex.quote(str(folder))}")


def describe_start(plan: DryRun) -> str:
    """One line: the folder, the networks to train, memory and time."""
    if not plan.n_networks:
        return f"{plan.folder}: {count(plan.n_recorded, 'row')} there, no network to train."
    return f"{plan.folder}: {count(plan.n_networks, 'network')} to train, {plan.needs}."


def _open_bar(plan: DryRun, quiet: bool) -> Any:
    """A bar that a signal can ask how far it is."""

    def open_it(total: int, _done: int) -> Any:
        from elmlda.experiments.experiment import open_bar

        bar = open_bar(not quiet, total)
        where = f"recorded in {plan.folder}. The same command goes on from there."
        stop.describe = lambda: f"{bar.n:,} of {count(total, 'network')} are {where}"
        return bar

    return open_it
