"""What defines a network, and which data it is trained on: the options that all experiments share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

from elmlda.options import (
    ACTIVATIONS,
    COLUMN,
    COLUMNS,
    FLAG,
    INPUT_WEIGHTS,
    OUTPUTS,
    PRIORS,
    SOURCE,
    Options,
    number,
    one_of,
    option,
    or_loo,
    whole,
)

PAPER_RANGE = 0.5
"""Input weights are uniform in ± this."""


@dataclass(frozen=True, kw_only=True, repr=False)
class NetworkSettings(Options):
    """Everything that defines a network but its seed, its data, its size and its ridge."""

    activation: str = option("tanh", one_of(*ACTIVATIONS), "Activation function g, Eq. (2).")
    bias: bool = option(False, FLAG, "Give each hidden unit a random bias.")
    weight_range: float = option(
        PAPER_RANGE, number(above=True), "Uniform input weights are in ± this."
    )
    input_scale: float | None = option(
        None,
        number(above=True),
        "Inputs are multiplied by this.  [default: 1/255 for bytes, else 1]",
    )
    priors: Any = option(
        "uniform",
        PRIORS,
        "Class priors π, Eq. (15): uniform, frequencies, or a number for each class.",
    )
    precision: str = option(
        "mixed",
        one_of("mixed", "double"),
        "mixed: float32 up to the Gram matrix, float64 from there. double: float64 throughout.",
    )
    input_weights: str = option(
        "uniform",
        one_of(*INPUT_WEIGHTS),
        "uniform: the paper's. constrained: differences of two training samples of different classes. "
        "receptive-field: in a random rectangle of the image.",
    )
    weight_norm: float = option(2.0, number(above=True), "Norm of a unit's weights, if not uniform.")
    min_field: int = option(10, whole(), "Pixels of the smallest receptive field.")

    @property
    def is_constrained(self) -> bool:
        """Whether input weights are differences of training samples."""
        return self.input_weights.endswith("constrained")

    @property
    def has_fields(self) -> bool:
        """Whether units see a rectangle of the image only."""
        return self.input_weights.startswith("receptive-field")

    def in_double(self) -> Self:
        """The same settings in double precision."""
        return replace(self, precision="double")


@dataclass(frozen=True)
class OutputSettings(Options):
    """How output weights are found, and what LDA's scores are multiplied by before the softmax."""

    ridge: Any = option(0.0, or_loo(number()), "Added to the Gram matrix's diagonal.")
    temperature: Any = option(1.0, or_loo(number(above=True)), "What LDA's scores are multiplied by.")
    output: str = option("lda", one_of(*OUTPUTS), "Also what the ridge is chosen for.")


@dataclass(frozen=True, kw_only=True, repr=False)
class DataOptions(Options):
    """Which data."""

    dataset: Any = option(
        "mnist",
        SOURCE,
        "Name (see elmlda data list), or your own .csv, .npz or folder of IDX files.",
    )
    label: str | None = option(
        None,
        COLUMN,
        "The column with the class, by name or number.",
    )
    drop: tuple[str, ...] = option((), COLUMNS, "A column to leave out; may be given several times.")
    missing: str | None = option(
        None,
        one_of("drop", "mean"),
        "Drop samples with missing values, or take means.",
    )
    seed: int = option(0, whole(0, 2**63), "Root seed of all random numbers.")


# Networks for use, not for the paper

FEWEST_HIDDEN, USUAL_FANOUT, USUAL_RANGE = 1000, 10, 1.4
"""Chosen on half of the panel's data sets, see results/panel."""


def usual_hidden(n_inputs: int) -> int:
    """Hidden units of a network for use: 10 for each input, but no fewer than 1,000."""
    return max(FEWEST_HIDDEN, USUAL_FANOUT * n_inputs)


def usual_weight_range(n_inputs: int, bias: bool) -> float:
    """Weight range of a network for use, for standardised inputs; without a bias the paper's."""
    return USUAL_RANGE / math.sqrt(n_inputs) if bias else PAPER_RANGE
