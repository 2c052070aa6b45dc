"""Settings of networks and jobs: names, defaults and their limits, light to import."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from elmlda.errors import ElmldaValueError

ACTIVATION_NAMES = ("tanh", "logistic", "relu", "softsign", "sine")
PRECISIONS = ("mixed", "double", "bfloat16")
INPUT_WEIGHTS = ("uniform", "constrained", "receptive-field", "receptive-field-constrained")
"""Schemes that `elmlda.core.input_weights` draws by; the first is the paper's."""
DESIGNS = ("nested", "independent")
COMBINATIONS = ("mean", "product", "median", "max", "vote")
OUTPUTS = ("lda", "pi")
RULES = ("none", "gcv")
"""How `compare` chooses the ridge: none as in the paper, or gcv, which `elmlda.core.ridge` explains."""
REPORT_FORMATS = ("csv", "figures", "md", "html")
DEFAULT_CHUNK = 4000
LARGEST_NUMBER = 1e300
"""Of a weight range: its double must be a float64 too."""
PRIORS_TOLERANCE = 1e-6
"""How far from one the sum of priors may be, as they are written with a few digits."""
DEFAULT_RIDGE = 1.0
"""Of networks that are for use; experiments have the paper's, 0."""
PAPER_RANGE = 0.5
FEWEST_HIDDEN, USUAL_FANOUT = 500, 10


def usual_hidden(n_inputs: int) -> int:
    """Hidden units of a network for use: 10 for each input, but no fewer than 500."""
    return max(FEWEST_HIDDEN, USUAL_FANOUT * n_inputs)


def usual_weight_range(n_inputs: int, bias: bool) -> float:
    """Weight range of a network for use, for standardised inputs; without a bias the paper's."""
    return 1 / math.sqrt(n_inputs) if bias else PAPER_RANGE


@dataclass(frozen=True)
class NetworkSettings:
    """Everything that defines a network but its seed, its data and its size."""

    activation: str = "tanh"
    weight_range: float = PAPER_RANGE
    input_scale: float | None = None
    """None: the dataset's own, 1/255 for MNIST's pixels."""
    ridge: float = 0.0
    priors: str = "uniform"
    """uniform (the paper's), frequencies (of the training classes) or numbers with commas."""
    precision: str = "mixed"
    """mixed: hidden outputs and Gram matrix in float32, the rest in float64; double: all float64;
    bfloat16: as mixed, with hidden outputs that are rounded to bfloat16."""
    input_weights: str = "uniform"
    weight_norm: float = 2.0
    """Of each hidden unit's weights, if they are not uniform."""
    min_field: int = 10
    """Pixels of the smallest receptive field."""
    bias: bool = False
    """Whether each hidden unit has a random bias; the paper's have none."""

    def __post_init__(self) -> None:
        _one_of("activation", self.activation, ACTIVATION_NAMES)
        _one_of("precision", self.precision, PRECISIONS)
        _one_of("the scheme of input weights", self.input_weights, INPUT_WEIGHTS)
        _positive("weight range", self.weight_range)
        _positive("weight norm", self.weight_norm)
        _positive("min field", self.min_field)
        if self.input_scale is not None:
            _positive("input scale", self.input_scale)
        if not (math.isfinite(self.ridge) and self.ridge >= 0):
            raise ElmldaValueError(f"ridge is {self.ridge}: expected a number that is not negative.")
        if self.priors not in ("uniform", "frequencies"):
            parse_priors(self.priors)

    @property
    def is_constrained(self) -> bool:
        """Whether input weights are differences of training samples."""
        return self.input_weights.endswith("constrained")

    @property
    def has_fields(self) -> bool:
        """Whether units see a rectangle of the image only."""
        return self.input_weights.startswith("receptive-field")

    def in_double(self) -> NetworkSettings:
        """The same settings in double precision."""
        return replace(self, precision="double")

    def identity(self) -> dict[str, Any]:
        """The settings that make a difference; others are left out, whatever they are."""
        unused = {"weight_range"}
        if self.input_weights == "uniform":
            unused = {"input_weights", "weight_norm", "min_field"}
        elif not self.has_fields:
            unused.add("min_field")
        if not self.bias:
            unused.add("bias")
        return {name: value for name, value in vars(self).items() if name not in unused}


@dataclass(frozen=True)
class Resources:
    """What a network may use while it is trained; results are the same up to rounding."""

    threads: int = 1
    chunk: int = DEFAULT_CHUNK
    """Training samples whose hidden outputs are held at a time."""


@dataclass(frozen=True)
class DatasetRef:
    """A dataset, for a process that loads it itself."""

    name: str | None = None
    """Of the catalogue, or a .npz or .csv file."""
    data_dir: Path | None = None
    label: str | None = None
    """The column of a .csv file that has the class."""
    checksums: tuple[tuple[str, str], ...] = ()
    """Part -> SHA-256 of the data that are expected; empty where any will do."""
    drop: tuple[str, ...] = ()
    """Columns of a .csv file that are no inputs."""

    def expecting(self, checksums: Mapping[str, str]) -> DatasetRef:
        """The same dataset, which must have these checksums."""
        return replace(self, checksums=tuple(checksums.items()))


@dataclass(frozen=True)
class NetworkJob:
    """One network to be trained and tested: all that a worker needs to know."""

    dataset: DatasetRef
    seed: int
    key: tuple[int, ...]
    """The network's place in the run: the spawn key of its random generator."""
    sizes: tuple[int, ...]
    """Hidden sizes, ascending; the network has the largest, the others are its first units."""
    settings: NetworkSettings = field(default_factory=NetworkSettings)
    resources: Resources = field(default_factory=Resources)


@dataclass(frozen=True)
class RowBlockJob(NetworkJob):
    """The part of a network's training that is a sum over one block of the training samples."""

    block: int = 0
    n_blocks: int = 1


def network_key(design: str, index: int, n_hidden: int, n_inputs: int) -> tuple[int, ...]:
    """Spawn key of network `index` of a run, whichever experiment asks for it.

    In the nested design it is the same network at every size; in the independent one every size has
    networks of its own, known by their fan-out or, where that is not whole, by their hidden units.
    """
    if design == "nested":
        return (index,)
    fanout, rest = divmod(n_hidden, n_inputs)
    return (index, fanout) if rest == 0 else (index, 0, n_hidden)


def parse_priors(text: str) -> tuple[float, ...]:
    """Prior probabilities from numbers with commas, which sum to one."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ElmldaValueError(
            f"priors are '{text}': expected uniform, frequencies, or one number a class with "
            "commas, such as 0.2,0.3,0.5."
        ) from None
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ElmldaValueError(f"priors are '{text}': each must be a number above zero.")
    total = sum(values)
    if not abs(total - 1) <= PRIORS_TOLERANCE:
        raise ElmldaValueError(f"priors are '{text}': their sum is {total:g}, expected 1.")
    return tuple(value / total for value in values)


def _one_of(what: str, found: str, expected: tuple[str, ...]) -> None:
    if found not in expected:
        raise ElmldaValueError(f"{what} is '{found}': expected one of {', '.join(expected)}.")


def _positive(what: str, found: float) -> None:
    if not 0 < found <= LARGEST_NUMBER:
        raise ElmldaValueError(
            f"{what} is {found}: expected a number above zero and up to {LARGEST_NUMBER:g}."
        )
