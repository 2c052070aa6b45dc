"""What every command that conducts experiments does alike: start line, bar, table, what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from elmlda.cli.command import spell_command
from elmlda.cli.tables import NOTE, show_records
from elmlda.cli.terminal import say

if TYPE_CHECKING:
    from elmlda.experiments.experiment import Experiment
    from elmlda.experiments.outlook import Outlook
    from elmlda.experiments.progress import OpenProgress, Progress
    from elmlda.experiments.run_spec import RunSpec, Share
    from elmlda.experiments.study import Part, Study

Advise: TypeAlias = "Callable[[RunSpec, Any], str]"
Conducted = TypeVar("Conducted")
ARGUMENTS = {"fanout": "fanouts", "rule": "rules", "dataset": "datasets"}
"""Options that may be called otherwise in Python, where they are several."""


def build(kind: type[Conducted], options: dict[str, Any]) -> Conducted:
    """Make the experiment that the options describe."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    arguments = {
        ARGUMENTS[name] if ARGUMENTS.get(name) in names else name: value
        for name, value in options.items()
    }
    return kind(**{name: value for name, value in arguments.items() if name in names})


def conduct(experiment: Experiment, options: dict[str, Any], advise: Advise | None = None) -> None:
    """Conduct an experiment, or say what that would take; `advise` is asked where it has to train."""
    spec = experiment.bind(options["out"], read_share(options))
    if options["dry_run"]:
        say(experiment.look_ahead(spec))
        return
    table = _conduct(experiment, spec, options["quiet"], advise)[1]
    if not options["quiet"]:
        say(f"{table}\n\n{_name_records(experiment, spec)}")
        _finish([table], spec.folder)


def conduct_study(study: Study, options: dict[str, Any]) -> None:
    """Conduct a study part by part, or say what that would take."""
    share, tables = read_share(options), []
    if options["dry_run"]:
        outlooks = study.outlook(options["out"], **vars(share))
        say("\n\n".join([*map(str, outlooks), sum_up(outlooks)]))
        return

    def conduct_part(part: Part) -> Sequence[Any]:
        spec = part.bind(share)
        records, table = _conduct(part.experiment, spec, options["quiet"])
        tables.append(table)
        if not options["quiet"]:
            say(f"{part.title}\n{table}\n{_name_records(part.experiment, spec)}\n")
        return records

    for _ in study.visit(options["out"], conduct_part):
        pass
    if not options["quiet"]:
        _finish(tables, options["out"])


def _conduct(
    experiment: Experiment, spec: RunSpec, quiet: bool, advise: Advise | None = None
) -> tuple[Sequence[Any], str]:
    """All records, and their table."""
    command = spell_command(click.get_current_context())
    if quiet:
        return experiment.conduct(spec, choose_bar(quiet), command), ""
    outlook = experiment.look_ahead(spec)
    start = [describe_start(outlook)]
    if outlook.multiplier and outlook.n_networks:
        start.append(f"bfloat16 {outlook.multiplier}.")
    if advise and outlook.n_networks:
        start += filter(None, [advise(spec, experiment)])
    records = experiment.conduct(spec, choose_bar(quiet, start, outlook), command)
    return records, show_records(experiment, records, spec)


def _name_records(experiment: Experiment, spec: RunSpec) -> str:
    return f"Records: {spec.folder / experiment.record_types[0].FILE}"


def _finish(tables: Sequence[str], folder: Path) -> None:
    if any("±" in table for table in tables):
        say(NOTE)
    say(f"Next: elmlda report {shlex.quote(str(folder))}")


def sum_up(outlooks: Sequence[Outlook]) -> str:
    """What all parts of a study take together."""
    from elmlda.experiments.outlook import format_seconds

    networks, seconds = (sum(getattr(o, name) for o in outlooks) for name in ("n_networks", "seconds"))
    peak = max(outlook.peak_bytes for outlook in outlooks) / 1e9
    return f"in all         {networks:,} networks, {peak:.2f} GB, about {format_seconds(seconds)}"


def describe_start(outlook: Outlook) -> str:
    """One line: the folder, the networks to train, memory and time."""
    from elmlda.experiments.outlook import format_seconds

    folder, share = outlook.spec.folder, outlook.spec.share
    if not outlook.n_networks:
        return f"{folder}: {outlook.n_recorded:,} records are there, no network to train."
    networks = "1 network" if outlook.n_networks == 1 else f"{outlook.n_networks:,} networks"
    where = " for each worker" if share.cluster else ""
    return (
        f"{folder}: {networks} to train, {outlook.peak_bytes / 1e9:.2f} GB of memory{where}, about "
        f"{format_seconds(max(outlook.seconds, 1.0))}{' without the cluster' if share.cluster else ''}."
    )


def read_share(options: dict[str, Any]) -> Share:
    """What the command may use of the machine."""
    from elmlda.experiments.run_spec import Share

    names = (field.name for field in fields(Share))
    return Share(**{name: options[name] for name in names if name in options})


def choose_bar(quiet: bool, start: Sequence[str] = (), outlook: Outlook | None = None) -> OpenProgress:
    """Print how it starts, then a bar on stderr whose line ends before anything else; or nothing."""
    from elmlda.experiments.progress import Bar, Silence, choose_progress

    if quiet:
        return choose_progress(False)

    @contextmanager
    def open_and_close(total: int, done: int) -> Iterator[Progress]:
        for line in start:
            say(line, err=True)
        if outlook and not outlook.n_networks:
            yield Silence()
            return
        is_local = outlook and not outlook.spec.share.cluster
        with Bar(total, done, outlook.seconds if outlook and is_local else None) as bar:
            click.get_current_context().call_on_close(bar.close)
            yield bar

    return open_and_close
