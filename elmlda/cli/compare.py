"""elmlda compare: PI-ELM against LDA-ELM on other data sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.conduct import build, conduct_study
from elmlda.cli.options import (
    Ranges,
    layer_options,
    output_options,
    repeats_type,
)
from elmlda.cli.study_options import study_options
from elmlda.settings import RULES

if TYPE_CHECKING:
    from elmlda.experiments.compare import CompareRecord
    from elmlda.experiments.run_spec import RunSpec
    from elmlda.experiments.study import Part


@click.command()
@click.option(
    "--dataset",
    multiple=True,
    default=["iris,wine,abalone,satimage"],
    show_default=True,
    metavar="NAMES",
    help="Data sets of the catalogue with commas, or your own .npz or .csv; may be given again.",
)
@click.option("--label", metavar="COLUMN", help="The column of a .csv file that has the class.")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Your own four IDX files instead, raw or .gz, named as MNIST's; for one --dataset.",
)
@click.option(
    "--fanout",
    type=Ranges(),
    default="1-5,10,20",
    show_default=True,
    help="Hidden units for each input.",
)
@click.option("--hidden", type=Ranges(), help="Hidden units instead: 10,20,50,100.")
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=10,
    show_default=True,
    help="Of stratified cross-validation, for sets without a split of their own.",
)
@click.option(
    "--repeats",
    type=repeats_type,
    default=10,
    show_default=True,
    help="Cross-validations, or networks for sets with a split of their own.",
)
@click.option(
    "--rule",
    type=click.Choice(RULES),
    multiple=True,
    default=RULES,
    show_default=True,
    help="The ridge: none as in the paper, or chosen by GCV on the training part; may be given twice.",
)
@layer_options
@output_options
@study_options("results/compare", "set")
def compare(**options: Any) -> None:
    """Compare PI-ELM with LDA-ELM on the same weights and splits of several data sets.

    Sets with a split of their own keep it; others get repeated stratified cross-validation. Inputs of
    sets that are not images are standardised by the training part alone. Writes compare.csv into a
    folder for each set. The same command again goes on where it stopped; --repeats, --fanout and
    --rule may grow. elmlda report makes a page for each set and a summary of all.
    """
    from elmlda.experiments.compare import Compare

    def show(records: list[CompareRecord], spec: RunSpec, _: Part) -> str:
        return format_table(spec.data.name, records)

    conduct_study(build(Compare, options), options, show)


def format_table(name: str, records: Sequence[CompareRecord]) -> str:
    """Error rates of both methods by rule and size, and the corrected test."""
    from elmlda.reports.subjects.compare import tabulate_compare

    lines = [
        f"{name}: error rate, %",
        f"{'ridge':>6} {'hidden':>7} {'networks':>8} {'PI-ELM':>14} {'LDA-ELM':>14} "
        f"{'PI − LDA':>15} {'p':>8}",
    ]
    for row in tabulate_compare(records).to_dict("records"):
        cells = [
            f"{row[f'{column}']:6.2f} ±{row[half]:5.2f}"
            if row[half] == row[half]
            else f"{row[column]:6.2f}"
            for column, half in (
                ("pi_error_percent", "pi_interval"),
                ("lda_error_percent", "lda_interval"),
                ("difference", "difference_interval"),
            )
        ]
        p = f"{row['p']:8.2g}" if row["p"] == row["p"] else ""
        lines.append(
            f"{row['rule']:>6} {row['n_hidden']:7d} {row['networks']:8d} {cells[0]:>14} {cells[1]:>14} "
            f"{cells[2]:>15} {p}".rstrip()
        )
    return "\n".join(lines)
