"""elmlda compare: PI-ELM against LDA-ELM on other data sets."""

from __future__ import annotations

from typing import Any

import click

from elmlda.cli.command import Command, option
from elmlda.cli.conduct import build, conduct
from elmlda.cli.options import (
    column_options,
    data_dir_option,
    fanouts_option,
    hiddens_option,
    layer_options,
    output_options,
    repeats_option,
    study_options,
)
from elmlda.cli.values import NameOrPath
from elmlda.settings import RULES


@click.command(cls=Command)
@option(
    "--dataset",
    "Data sets of the catalogue with commas, or your own .npz or .csv; may be given again.",
    NameOrPath(),
    ["iris,wine,abalone,satimage"],
    multiple=True,
    metavar="NAMES",
)
@column_options
@data_dir_option
@fanouts_option("1-5,10,20")
@hiddens_option
@option(
    "--folds",
    "Folds of stratified cross-validation, for sets without a test part of their own.",
    click.IntRange(2, 10_000),
    10,
)
@repeats_option(10, "Cross-validations, or networks for sets with a test part of their own")
@option(
    "--rule",
    "The ridge: none as in the paper, or chosen by generalised cross-validation (gcv) on the training "
    "part; may be given twice.",
    click.Choice(RULES),
    RULES,
    multiple=True,
)
@layer_options
@output_options
@study_options("results/compare", "set")
def compare(**options: Any) -> None:
    """Compare PI-ELM with LDA-ELM on the same weights and splits of several data sets.

    Sets with a test part of their own keep it; others get repeated stratified cross-validation. Inputs
    of sets that are not images are standardised by the training part alone. Writes compare.csv into a
    folder for each set. The same command again goes on where it stopped; --repeats, --fanout and
    --rule may grow. elmlda report makes a page for each set and a summary of all.
    """
    from elmlda.experiments.compare import Compare

    conduct(build(Compare, options), options)
