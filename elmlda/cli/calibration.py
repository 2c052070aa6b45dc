"""elmlda calibration: whether LDA-ELM's outputs are posterior probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.conduct import build, conduct
from elmlda.cli.formats import or_blank, with_interval
from elmlda.cli.options import (
    Ranges,
    cluster_option,
    network_options,
    repeats_type,
    resource_options,
    run_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmlda.experiments.calibration import CalibrationRecord


@click.command()
@click.option(
    "--fanout",
    type=Ranges(),
    default="1,5,20",
    show_default=True,
    help="Hidden units for each input; networks of the largest are combined.",
)
@click.option(
    "--n", type=Ranges(), default="1,2,5,20", show_default=True, help="Networks that are combined."
)
@click.option(
    "--repeats",
    type=repeats_type,
    default=10,
    show_default=True,
    help="Groups of the most networks; single networks at smaller fan-outs.",
)
@click.option(
    "--train/--no-train",
    default=True,
    show_default=True,
    help="Train the networks whose posteriors are not kept, or leave them out.",
)
@network_options
@resource_options
@cluster_option
@run_options
def calibration(**options: Any) -> None:
    """Compare LDA-ELM's posterior probabilities with what comes true on the test samples.

    Group g of n networks has networks g·n to g·n + n - 1 of the run. What sweep and ensemble have
    kept in the run's folder is used; only the networks that are missing are trained, and kept too.
    Writes calibration.csv: log-loss, Brier score, expected calibration error, and the bins of a
    reliability diagram. The same command again goes on where it stopped; --repeats, --fanout and --n
    may grow.
    """
    from elmlda.experiments.calibration import Calibration

    conduct(build(Calibration, options), options, lambda records, _: format_table(records))


def format_table(records: Sequence[CalibrationRecord]) -> str:
    """Scores, confidence and accuracy of each kind of group, with half their 95 % intervals."""
    from elmlda.reports.subjects.calibration import tabulate_calibration

    lines = [
        f"{'':7} {'':8} {'':6} {'':17} {'':17} {'':17} {'confidence':^13} {'accuracy':^13}",
        f"{'fan-out':>7} {'networks':>8} {'groups':>6} {'log-loss':^17} {'Brier score':^17} "
        f"{'calibration error':^17} {'%':^13} {'%':^13}",
    ]
    for row in tabulate_calibration(records).to_dict("records"):
        scores = " ".join(
            f"{row[name]:8.4f} {or_blank(row[f'{name}_interval'], '±{:7.4f}', 8)}"
            for name in ("log_loss", "brier", "ece")
        )
        rates = " ".join(
            with_interval(row[f"{name}_percent"], row[f"{name}_interval"])
            for name in ("confidence", "accuracy")
        )
        line = f"{row['fanout']:7g} {row['size']:8d} {row['groups']:6d} {scores} {rates}"
        lines.append(line.rstrip())
    return "\n".join(lines)
