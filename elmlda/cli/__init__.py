"""The command line: the only place that prints."""

from __future__ import annotations

import errno
import os
import sys
import warnings

import click

from elmlda.cli import stop
from elmlda.cli.bench import bench
from elmlda.cli.calibration import calibration
from elmlda.cli.choices import choices
from elmlda.cli.compare import compare
from elmlda.cli.data import data
from elmlda.cli.ensemble import ensemble
from elmlda.cli.predict import predict
from elmlda.cli.report import report
from elmlda.cli.shaped import shaped
from elmlda.cli.sweep import sweep
from elmlda.cli.timing import timing
from elmlda.cli.train import train
from elmlda.cli.tune import tune
from elmlda.errors import ElmldaError
from elmlda.text import printable
from elmlda.version import __version__

NO_ROOM = errno.ENOSPC, errno.EDQUOT, errno.EFBIG
LONGEST_MESSAGE = 2000


def _show_warning(message: Warning | str, *_: object) -> None:
    click.echo(f"Warning: {_in_one_line(str(message))}", err=True)


def _in_one_line(message: str) -> str:
    return printable(" ".join(message.split()), LONGEST_MESSAGE)


class _Group(click.Group):
    """Where what a user can mend loses its traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = _show_warning  # type: ignore[assignment]
                return super().invoke(ctx)
        except ElmldaError as error:
            raise click.ClickException(_in_one_line(error.for_command_line())) from error
        except MemoryError as error:
            raise click.ClickException(
                f"the memory is not enough: {str(error).rstrip('.') or 'none is left'}. Use fewer "
                "hidden units, a smaller --chunk or fewer --jobs; what was recorded is safe."
            ) from error


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="elmlda")
def cli() -> None:
    """Extreme learning machines with output weights by linear discriminant analysis.

    Reproduces de Chazal, Tapson and van Schaik's paper on MNIST, which is part of the package.
    Start with: elmlda sweep --fanout 1-3 --repeats 5
    """


for command in (
    sweep, ensemble, calibration, timing, compare, tune, shaped, choices, bench, report, train, predict,
    data,
):  # fmt: skip
    cli.add_command(command)


def main() -> None:
    """Run the command line."""
    stop.listen()
    try:
        exit_code = _run()
        stop.ignore()
    except stop.Stopped as stopped:
        stopped.end()
    sys.exit(exit_code)


def _run() -> int:
    """The exit code."""
    try:
        cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except OSError as error:
        # Files have their own messages: what is left is what was to be printed.
        if error.errno not in NO_ROOM or error.filename:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else exit tries again to write what is buffered
        click.echo(
            f"Error: the output cannot be written: {error.strerror}. Make room, or send it elsewhere; "
            "what was recorded is safe.",
            err=True,
        )
        return 1
    return 0
