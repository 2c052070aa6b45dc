"""Options of the commands that make several runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from elmlda.cli.options import (
    Command,
    cluster_option,
    config_option,
    dry_run_option,
    quiet_option,
    resource_options,
    together,
)


def study_options(folder: str, what: str) -> Callable[[Command], Command]:
    """How the runs are conducted, and where: in `folder` unless told otherwise, one for each `what`."""
    return together(
        resource_options,
        cluster_option,
        click.option(
            "--out",
            type=click.Path(path_type=Path),
            default=Path(folder),
            show_default=True,
            metavar="DIR",
            help=f"Folder with a run for each {what}; runs that are there go on.",
        ),
        config_option,
        dry_run_option,
        quiet_option,
    )
