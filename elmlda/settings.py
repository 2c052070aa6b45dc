"""What defines a network, and which data it is trained on: the options that all experiments share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

from elmlda.options import (
    ACTIVATIONS,
    INPUT_WEIGHTS,
    MISSING,
    PRECISIONS,
    Options,
    flag,
    number,
    one_of,
    option,
    optional,
    priors,
    source,
    text,
    texts,
    whole,
)

PAPER_RANGE = 0.5
"""Input weights are uniform in ± this."""


@dataclass(frozen=True, kw_only=True)
class NetworkSettings(Options):
    """Everything that defines a network but its seed, its data, its size and its ridge."""

    activation: str = option(
        "tanh", one_of(*ACTIVATIONS), "Activation function g of the hidden units, Eq. (2)."
    )
    bias: bool = option(False, flag(), "Give each hidden unit a random bias; the paper's have none.")
    weight_range: float = option(
        PAPER_RANGE, number(above=True), "Uniform input weights are in ± this."
    )
    input_scale: float | None = option(
        None,
        optional(number(above=True)),
        "Inputs are multiplied by this, after any standardisation.  [default: 1/255 for bytes, else 1]",
    )
    priors: Any = option(
        "uniform",
        priors(),
        "Class priors π of Eq. (15): uniform, frequencies (of the training classes), or a number for "
        "each class, with commas.",
    )
    precision: str = option(
        "mixed",
        one_of(*PRECISIONS),
        "mixed: float32 up to the Gram matrix, float64 from there, small networks in double. double: "
        "float64 throughout.",
    )
    input_weights: str = option(
        "uniform",
        one_of(*INPUT_WEIGHTS),
        "uniform: the paper's. constrained: differences of two training samples of different classes. "
        "receptive-field: in a random rectangle of the image only.",
    )
    weight_norm: float = option(
        2.0, number(above=True), "Norm of each hidden unit's weights, if they are not uniform."
    )
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


@dataclass(frozen=True, kw_only=True)
class DataOptions(Options):
    """Which data."""

    dataset: Any = option(
        "mnist",
        source(),
        "Data set of the catalogue (see elmlda data list), or your own: a .csv, .npz or .npy file, or "
        "a folder of four IDX files.",
    )
    label: str | None = option(
        None,
        optional(text(or_number=True)),
        "The column of a table that has the class, by name or number.",
    )
    drop: tuple[str, ...] = option(
        (), texts(), "Leave out this column of a table, by name or number; may be given several times."
    )
    missing: str | None = option(
        None,
        optional(one_of(*MISSING)),
        "Missing values of a table: drop the samples, or take the column's mean.",
    )
    seed: int = option(
        0, whole(0, 2**63), "Root seed of all random numbers: the same seed gives the same networks."
    )


# Networks for use, not for the paper

DEFAULT_RIDGE = 1.0
FEWEST_HIDDEN, USUAL_FANOUT = 500, 10


def usual_hidden(n_inputs: int) -> int:
    """Hidden units of a network for use: 10 for each input, but no fewer than 500."""
    return max(FEWEST_HIDDEN, USUAL_FANOUT * n_inputs)


def usual_weight_range(n_inputs: int, bias: bool) -> float:
    """Weight range of a network for use, for standardised inputs; without a bias the paper's."""
    return 1 / math.sqrt(n_inputs) if bias else PAPER_RANGE
