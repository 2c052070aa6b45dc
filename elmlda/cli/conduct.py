"""What every command that conducts experiments does alike: options in, dry run or bar, table out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import click

from elmlda.cli.command import spell_command

if TYPE_CHECKING:
    from elmlda.experiments.experiment import Experiment
    from elmlda.experiments.progress import OpenProgress, Progress
    from elmlda.experiments.run_spec import RunSpec, Share
    from elmlda.experiments.study import Part, Study

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


def conduct(
    experiment: Experiment, options: dict[str, Any], show: Callable[[list[Any], RunSpec], str]
) -> None:
    """Conduct an experiment, or say what that would take; `show` makes the table from its records."""
    spec = experiment.bind(options["out"], read_share(options))
    if options["dry_run"]:
        click.echo(str(experiment.look_ahead(spec)))
        return
    command = spell_command(click.get_current_context())
    records = experiment.conduct(spec, open_bar(options["quiet"]), command)
    if not options["quiet"]:
        click.echo(show(records, spec))
        click.echo(f"\nRecords: {spec.folder / experiment.record_types[0].FILE}")


def conduct_study(
    study: Study, options: dict[str, Any], show: Callable[[list[Any], RunSpec, Part], str]
) -> None:
    """Conduct a study part by part, or say what that would take."""
    share = read_share(options)
    if options["dry_run"]:
        outlooks = study.outlook(options["out"], **vars(share))
        click.echo("\n\n".join(map(str, outlooks)))
        return

    command = spell_command(click.get_current_context())

    def conduct_part(part: Part) -> list[Any]:
        spec = part.bind(share)
        records = part.experiment.conduct(spec, open_bar(options["quiet"]), command)
        if not options["quiet"]:
            click.echo(show(records, spec, part))
            click.echo(f"Records: {spec.folder / part.experiment.record_types[0].FILE}\n")
        return records

    for _ in study.visit(options["out"], conduct_part):
        pass


def read_share(options: dict[str, Any]) -> Share:
    """What the command may use of the machine."""
    from elmlda.experiments.run_spec import Share

    names = (field.name for field in fields(Share))
    return Share(**{name: options[name] for name in names if name in options})


def open_bar(quiet: bool) -> OpenProgress:
    """A bar on stderr whose line ends before anything else is printed, however the command ends."""
    from elmlda.experiments.progress import choose_progress

    open_progress = choose_progress(not quiet)

    @contextmanager
    def open_and_close(total: int, done: int) -> Iterator[Progress]:
        with open_progress(total, done) as bar:
            close = getattr(bar, "close", None)
            if close:
                click.get_current_context().call_on_close(close)
            yield bar

    return open_and_close
