"""The command line: the only place that prints."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from elmlda import stop
from elmlda.cli.bench import bench
from elmlda.cli.command import Group
from elmlda.cli.data import data
from elmlda.cli.experiments import calibration, ensemble, sweep, timing, tune
from elmlda.cli.predict import predict
from elmlda.cli.report import report
from elmlda.cli.studies import choices, compare, shaped
from elmlda.cli.terminal import in_one_line, prepare_streams, say
from elmlda.cli.train import train
from elmlda.machine import require_limits
from elmlda.version import __version__

BUG = "This is a bug in elmlda: please report it with the command and all of the lines above."
RESUMES = "Every finished network is recorded; the same command goes on from there."
EXPERIMENTS = sweep, ensemble, calibration, timing, compare, tune, shaped, choices
IF_STOPPED = {
    **dict.fromkeys((str(command.name) for command in EXPERIMENTS), RESUMES),
    "train": "The model is written at the end; the same command starts anew.",
    "bench": "The same command starts anew; what it has written stays until then.",
}


class _Elmlda(Group):
    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> object:
        with in_one_line():
            require_limits()
            return super().invoke(ctx)


@click.group(cls=_Elmlda, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="elmlda")
def cli() -> None:
    """Extreme learning machines with output weights by linear discriminant analysis.

    Reproduces de Chazal, Tapson and van Schaik's paper on MNIST, which is part of the package.
    Start with: elmlda sweep --fanout 1-3 --repeats 5
    """


for command in (*EXPERIMENTS, bench, report, train, predict, data):
    cli.add_command(command)


def main() -> None:
    """Run the command line."""
    prepare_streams()
    stop.listen(_describe_situation)
    try:
        exit_code = _run()
        stop.ignore()
    except stop.Stopped as stopped:
        stopped.end()
    sys.exit(exit_code)


def _describe_situation() -> tuple[str, Callable[[], object]]:
    """What to do after Ctrl-C, and how the bar's line ends."""
    context = click.get_current_context(silent=True)
    if context is None:
        return "Run the same command again.", lambda: None
    return IF_STOPPED.get(str(context.command.name), "Run the same command again."), context.close


def _run() -> int:
    """The exit code."""
    try:
        # What ctx.exit(1) asks for is returned; a command that ends by itself returns None.
        return cli.main(standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except Exception:
        sys.excepthook(*sys.exc_info())
        say(BUG, err=True)
        return 1
