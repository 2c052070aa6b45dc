"""elmlda data: what data there is, and whether it is intact."""

from __future__ import annotations

from pathlib import Path

import click

from elmlda.cli.options import data_options


@click.group()
def data() -> None:
    """Show the data sets, and whether they are intact."""


@data.command("list")
def list_command() -> None:
    """List the data sets of the catalogue."""
    from elmlda.datasets import list_datasets

    for info in list_datasets():
        click.echo(
            f"{info.name:10} {info.title}: {info.n_train:,} + {info.n_test:,} × {info.n_inputs}, "
            f"{len(info.classes)} classes\n"
            f"{'':10} {info.origin}; {info.licence}"
        )


@data.command()
@data_options
def verify(dataset: str | None, data_dir: Path | None) -> None:
    """Read every file of a data set and compare it with its checksum."""
    from elmlda.datasets import list_datasets, verify_dataset
    from elmlda.errors import ElmldaError

    names: list[str | None] = [dataset]
    if dataset is None and data_dir is None:
        names = [info.name for info in list_datasets()]
    checks = [check for name in names for check in verify_dataset(name, data_dir)]
    for check in checks:
        state = "ok " if check.ok else "BAD"
        known = "" if check.expected_sha256 or not check.ok else "  (no checksum to compare with)"
        click.echo(f"{state} {check.name:14} {check.message}{known}")
    broken = [check for check in checks if not check.ok]
    if broken:
        raise ElmldaError(f"{len(broken)} of {len(checks)} checks failed: see above.")
