"""elmlda tune: ridge and size of the input weights, chosen by held-out training samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.conduct import build, conduct
from elmlda.cli.options import (
    Numbers,
    cluster_option,
    data_options,
    output_options,
    resource_options,
    run_options,
    scheme_option,
    unit_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmlda.experiments.tune import TuneRecord

NORMS, RANGES, RIDGES = "0.5,1,2,4", "0.03125,0.0625,0.125,0.25,0.5", "0.01,0.1,1,10,100"


@click.command()
@click.option(
    "--fanout",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Hidden units for each input.",
)
@click.option("--hidden", type=click.IntRange(1), help="Hidden units instead.")
@click.option(
    "--ridge", type=Numbers(), default=RIDGES, show_default=True, help="Values of Tikhonov's λ to try."
)
@click.option(
    "--weight-norm",
    type=Numbers(),
    default=NORMS,
    show_default=True,
    help="Norms of each hidden unit's weights to try, if they are not uniform.",
)
@click.option(
    "--weight-range",
    type=Numbers(),
    default=RANGES,
    show_default=True,
    help="Ranges of uniform input weights to try.",
)
@click.option("--repeats", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--validation",
    type=click.IntRange(1),
    metavar="N",
    help="Training samples that are held out, the last ones.  [default: a sixth, MNIST's last 10,000]",
)
@data_options
@scheme_option
@unit_options
@output_options
@resource_options
@cluster_option
@run_options
def tune(**options: Any) -> None:
    """Choose the ridge and the size of the input weights without the test samples.

    The last training samples are held out, networks are trained on the others with every setting, and
    errors are counted on those held out. Writes tune.csv; the same command again goes on where it
    stopped, and more values may be tried.
    """
    from elmlda.experiments.tune import Tune

    conduct(
        build(Tune, options),
        options,
        lambda records, _: format_tuning(records, options["input_weights"]),
    )


def format_tuning(records: Sequence[TuneRecord], input_weights: str) -> str:
    """Both methods' error rates by setting, and the best setting as options."""
    from elmlda.experiments.tune import choose
    from elmlda.reports.subjects.tune import tabulate_tune

    choice, n_validation = choose(records), records[0].n_validation
    size_name = "weight-range" if input_weights == "uniform" else "weight-norm"
    lines = [
        f"{input_weights}, {records[0].n_hidden:,} hidden units, {n_validation:,} held-out samples",
        f"{size_name:>12} {'ridge':>8} {'repeats':>7} {'PI-ELM':>8} {'LDA-ELM':>8}",
    ]
    lines += [
        f"{row['weight_size']:12g} {row['ridge']:8g} {row['repeats']:7d} "
        f"{row['pi_error_percent']:7.2f}% {row['lda_error_percent']:7.2f}%"
        for row in tabulate_tune(records).to_dict("records")
    ]
    best = (
        f"Best for LDA-ELM: --input-weights {input_weights} --{size_name} {choice.weight_size:g} "
        f"--ridge {choice.ridge:g}: {choice.lda_error_percent:.2f} % of {n_validation:,} held-out "
        "samples"
    )
    return "\n".join([*lines, "", best])
