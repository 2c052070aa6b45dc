"""What every command that runs experiments does: start line, bar, table, what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from elmlda.cli.command import spell_command
from elmlda.cli.options import find_option
from elmlda.cli.tables import NOTE, show_records
from elmlda.cli.terminal import say
from elmlda.experiments.options import Share
from elmlda.text import format_seconds

if TYPE_CHECKING:
    from elmlda.errors import ElmldaError
    from elmlda.experiments.conduct import Outcome, Outlook
    from elmlda.experiments.experiment import AnyPlan, Runnable
    from elmlda.experiments.progress import Bar, Progress

Built = TypeVar("Built")


def build(kind: type[Built], options: dict[str, Any]) -> Built:
    """Make an experiment, or another dataclass of options, from the command line's options."""
    names = {field.name: find_option(field) for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: options[word] for name, word in names.items() if word in options})


def conduct(kind: type[Runnable], options: dict[str, Any]) -> None:
    """Run an experiment or a study, or say what that would take."""
    experiment, share, folder = build(kind, options), build(Share, options), options["out"]
    if options["dry_run"]:
        found = experiment.outlook(folder, **vars(share))
        say("\n\n".join([*map(str, found), sum_up(found)]) if isinstance(found, list) else found)
        return
    from elmlda.experiments import conduct as frame

    command, printed = spell_command(click.get_current_context()), Printed(options["quiet"])

    def conduct_plan(title: str, plan: AnyPlan) -> Sequence[Any]:
        outcome = frame.conduct(plan, printed.open_progress, command)
        printed.show(title, plan, outcome)
        return outcome.records

    experiment.for_each_plan(folder, share, conduct_plan)
    printed.finish(folder)


@dataclass
class Printed:
    """What a command prints while it runs, and what it keeps for the end."""

    quiet: bool
    folders: list[Path] = field(default_factory=list)
    """Those with a table."""
    has_intervals: bool = False
    gaps: list[ElmldaError] = field(default_factory=list)

    @contextmanager
    def open_progress(self, outlook: Outlook) -> Iterator[Progress]:
        """Print how it starts, then a bar on stderr; neither if it is quiet."""
        from elmlda.experiments.progress import Silence, open_bar

        if not self.quiet:
            say(describe_start(outlook), err=True)
        if self.quiet or not outlook.missing:
            yield Silence()
            return
        with _close_with_command(open_bar(outlook)) as bar:
            yield bar

    def show(self, title: str, plan: AnyPlan, outcome: Outcome) -> None:
        """The table of an experiment, and where its records are."""
        self.gaps += [outcome.gaps] if outcome.gaps else []
        if self.quiet or not outcome.records:
            return
        self.folders.append(plan.folder)
        table = show_records(plan, outcome.records)
        self.has_intervals |= "±" in table
        records = f"Records: {plan.folder / plan.experiment.record_types[0].FILE}"
        say(f"{title}\n{table}\n{records}\n" if title else f"{table}\n\n{records}")

    def finish(self, folder: Path | None) -> None:
        """What to do next; what could not be computed is an error."""
        if self.has_intervals:
            say(NOTE)
        if self.folders:
            say(f"Next: elmlda report {shlex.quote(str(folder or self.folders[0]))}")
        if self.gaps:
            raise self.gaps[0]


def sum_up(outlooks: Sequence[Outlook]) -> str:
    """What all parts of a study take together."""
    networks, seconds = (sum(getattr(o, name) for o in outlooks) for name in ("n_networks", "seconds"))
    peak = max(outlook.peak_bytes for outlook in outlooks) / 1e9
    return f"in all         {networks:,} networks, {peak:.2f} GB, about {format_seconds(seconds)}"


def describe_start(outlook: Outlook) -> str:
    """One line: the folder, the networks to train, memory and time; and advice, if there is any."""
    plan = outlook.plan
    if not outlook.missing:
        n, n_wanted = outlook.n_recorded, outlook.n_wanted
        found = f"all {n:,}" if n == n_wanted else f"{n:,} of {n_wanted:,}"
        return f"{plan.folder}: {found} records are there, no network to train."
    networks = "1 network" if outlook.n_networks == 1 else f"{outlook.n_networks:,} networks"
    each, without = (" for each worker", " without the cluster") if plan.share.cluster else ("", "")
    start = (
        f"{plan.folder}: {networks} to train, {outlook.peak_bytes / 1e9:.2f} GB of memory{each}, "
        f"about {format_seconds(max(outlook.seconds, 1.0))}{without}."
    )
    lines, advice = [start], plan.advise()
    lines += [f"bfloat16 {outlook.multiplier}."] if outlook.multiplier else []
    lines += [advice.for_command_line()] if advice else []
    return "\n".join(lines)


def open_counter(n_networks: int, quiet: bool) -> AbstractContextManager[Progress]:
    """A bar that counts networks, without a run; nothing if it is quiet."""
    from elmlda.experiments.progress import Bar, Silence

    return nullcontext(Silence()) if quiet else _close_with_command(Bar(n_networks, 0))


def _close_with_command(bar: Bar) -> Bar:
    """The bar, whose line ends before anything else is printed when the command ends."""
    click.get_current_context().call_on_close(bar.close)
    return bar
