"""The command line: the only place that prints."""

from __future__ import annotations

import os
import sys
import warnings

import click

from elmlda import __version__
from elmlda.cli.bench import bench
from elmlda.cli.compare import compare
from elmlda.cli.data import data
from elmlda.cli.ensemble import ensemble
from elmlda.cli.predict import predict
from elmlda.cli.report import report
from elmlda.cli.sweep import sweep
from elmlda.cli.timing import timing
from elmlda.cli.train import train
from elmlda.errors import ElmldaError

INTERRUPTED = 130


def _show_warning(message: Warning | str, *_: object) -> None:
    click.echo(f"Warning: {message}", err=True)


class _Group(click.Group):
    """Where what a user can mend loses its traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = _show_warning  # type: ignore[assignment]
                return super().invoke(ctx)
        except ElmldaError as error:
            raise click.ClickException(" ".join(str(error).splitlines())) from error
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


for command in (sweep, ensemble, timing, compare, bench, report, train, predict, data):
    cli.add_command(command)


def main() -> None:
    """Run the command line."""
    try:
        cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.stdout.flush()
        sys.stderr.flush()
        # A thread may be inside BLAS, whose clean-up at exit would wait for it.
        os._exit(INTERRUPTED)
