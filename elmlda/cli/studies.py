"""The commands that run several experiments, each in its own folder: compare, shaped and choices."""

from __future__ import annotations

from typing import Any

import click

from elmlda.cli.command import Command
from elmlda.cli.conduct import conduct
from elmlda.cli.options import field_options, study_options
from elmlda.experiments import command_options


@click.command(cls=Command)
@field_options(command_options.CompareOptions)
@study_options("results/compare", "set")
def compare(**options: Any) -> None:
    """Compare PI-ELM with LDA-ELM on the same weights and splits of several data sets.

    Sets with a test part of their own keep it; others get repeated stratified cross-validation. Inputs
    of sets that are not images are standardised by the training part alone. Writes compare.csv into a
    folder for each set. The same command again goes on where it stopped; --repeats, --fanout and
    --rule may grow. elmlda report makes a page for each set and a summary of all.
    """
    from elmlda.experiments.compare import Compare

    conduct(Compare, options)


@click.command(cls=Command)
@field_options(command_options.ShapedOptions)
@study_options("results/shaped", "kind")
def shaped(**options: Any) -> None:
    """Compare PI-ELM and LDA-ELM on four kinds of input weights, each at its own best setting.

    For each kind and method, norm and ridge are chosen by the method's errors on held-out training
    samples (elmlda tune); where the best lies on the edge of the grid, the grid is widened. Then
    networks are trained on the whole training part and tested: a few of every kind first, then
    ensembles of each method's best kind. The same command again goes on where it stopped.
    """
    from elmlda.experiments.shaped import Shaped

    conduct(Shaped, options)


@click.command(cls=Command)
@field_options(command_options.ChoicesOptions)
@study_options("results/choices", "combination")
def choices(**options: Any) -> None:
    """Sweep every combination of activation and input scale, which the paper does not state.

    Each combination is a sweep in a folder of its own, such as tanh-255, and has the same input weights
    as the others; the same command again goes on where it stopped. elmlda report tells how far each
    is from the paper's Table 1.
    """
    from elmlda.experiments.choices import Choices

    conduct(Choices, options)
