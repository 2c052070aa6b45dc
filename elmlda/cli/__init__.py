"""The command line, the only part of elmlda that prints."""

from __future__ import annotations

import sys

import click

from elmlda import __version__
from elmlda.cli.commands import data, make_command, report, verify
from elmlda.cli.terminal import in_one_line, prepare_streams, say
from elmlda.experiments.specs import SPECS

BUG = "This is a bug in elmlda: please report it with the command and all of the lines above."


class _Elmlda(click.Group):
    def list_commands(self, _: click.Context) -> list[str]:
        return [*self.commands]  # click sorts them by name

    def invoke(self, ctx: click.Context) -> object:
        with in_one_line():
            return super().invoke(ctx)


@click.group(cls=_Elmlda, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="elmlda")
def cli() -> None:
    """Extreme learning machines with output weights by linear discriminant analysis.

    Reproduces de Chazal, Tapson and van Schaik's paper on MNIST, which is part of the package.
    Start with: elmlda sweep --fanout 1-3 --repeats 3
    """


for command in (*map(make_command, SPECS), report, verify, data):
    cli.add_command(command)


def main() -> int:
    """Run the command line, and return the exit code."""
    prepare_streams()
    try:
        return cli.main(standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except Exception:
        sys.excepthook(*sys.exc_info())
        say(BUG, err=True)
        return 1
