"""Groups of options: the data, the networks, their sizes, and the machine.

Each option is declared here once; experiments and estimators inherit the groups that they use.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from elmlda.errors import ElmldaError
from elmlda.machine import count_cores, share_cores
from elmlda.options import (
    COLUMN,
    COLUMNS,
    FLAG,
    NUMBERS,
    PRIORS,
    SOURCE,
    TEXT,
    Choice,
    Names,
    Numbers,
    Options,
    Priors,
    declarations,
    number,
    one_of,
    option,
    or_loo,
    whole,
)

if TYPE_CHECKING:
    import pandas as pd

    Source: TypeAlias = str | Path | pd.DataFrame | tuple[Any, Any]
    """A data set's name, a path, a DataFrame, or inputs and labels."""

MOST_PROCESSES = 1024

_network_option = partial(option, scope="network", is_rare=True)


class NetworkOptions(Options):
    """Everything that defines a network except seed, data, size and ridge."""

    activation: str = _network_option(
        "tanh",
        one_of("tanh", "logistic", "relu", "softsign", "sine"),
        "Activation function, Eq. (2).",
        stated_by_paper=False,
    )
    bias: bool = _network_option(
        False, FLAG, "Give each hidden unit a random bias.", changes_draw=True, stated_by_paper=False
    )
    weight_range: float = _network_option(
        0.5,
        number(above=True),
        "Uniform input weights are between minus and plus this number.",
        changes_draw=True,
    )
    input_scale: float | None = _network_option(
        None,
        number(above=True),
        "Multiply inputs by this number.  [default: 1/255 for bytes, else 1]",
        stated_by_paper=False,
    )
    priors: Priors = _network_option(
        "uniform", PRIORS, "Class priors π, Eq. (15): uniform, frequencies, or a number for each class."
    )
    precision: str = _network_option(
        "mixed",
        one_of("mixed", "double"),
        "mixed: float32 up to the Gram matrix, float64 from there. double: float64 throughout.",
        stated_by_paper=None,
    )
    input_weights: str = _network_option(
        "uniform",
        one_of("uniform", "constrained", "receptive-field", "receptive-field-constrained"),
        "uniform: as in the paper. constrained: differences of two training samples of different "
        "classes. receptive-field: in a random rectangle of the image.",
        changes_draw=True,
    )
    weight_norm: float = _network_option(
        2.0, number(above=True), "Norm of a unit's weights, if not uniform.", changes_draw=True
    )
    min_field: int = _network_option(
        10, whole(), "Pixels of the smallest receptive field.", changes_draw=True
    )

    @property
    def is_constrained(self) -> bool:
        """Whether input weights are differences of training samples."""
        return self.input_weights.endswith("constrained")

    @property
    def has_fields(self) -> bool:
        """Whether each hidden unit sees only a rectangle of the image."""
        return self.input_weights.startswith("receptive-field")

    def in_double(self) -> Self:
        """Return the same options in double precision."""
        return replace(self, precision="double")


class OutputOptions(Options):
    """How output weights are computed, and the temperature of LDA's posteriors."""

    ridge: Choice = option(
        0.0, or_loo(number()), "Added to the Gram matrix's diagonal.", "network", stated_by_paper=None
    )
    temperature: Choice = option(
        1.0,
        or_loo(number(above=True)),
        "Also measure posteriors of LDA's scores times this number; loo chooses it.",
        "experiment",
    )
    output: str = option("lda", one_of("lda", "pi"), "Method that the ridge is chosen for.", "network")


class DataOptions(Options):
    """The data, and the seed of all random numbers."""

    dataset: Source = option(
        "mnist",
        SOURCE,
        "Name (see elmlda data list), or your own .csv, .npz or folder of IDX files.",
        "data",
    )
    label: str | int | None = option(
        None, COLUMN, "The column with the class, by name or number.", "data"
    )
    drop: Names | int = option((), COLUMNS, "Column to leave out; may be given several times.", "data")
    missing: str | None = option(
        None, one_of("drop", "mean"), "Drop samples with missing values, or fill in means.", "data"
    )
    header: bool | None = option(
        None, FLAG, "Whether a CSV file's first line has the columns' names.", "data"
    )
    seed: int = option(
        0, whole(0, 2**63), "Root seed of the run.", "network", changes_draw=True, stated_by_paper=None
    )

    @property
    def reading(self) -> dict[str, Any]:
        """Options that say how the data set is read: arguments of `load_dataset`."""
        declared = declarations(type(self))
        names = [name for name in declared if declared[name].scope == "data" and name != "dataset"]
        return {name: getattr(self, name) for name in names}


class SizeOptions(Options):
    """Hidden sizes."""

    fanout: Numbers = option("1-20", NUMBERS, "Hidden units per input.", "extent")
    hidden: Numbers | None = option(
        None,
        NUMBERS,
        "Hidden units instead of --fanout, such as 100,500,1000.",
        "extent",
        excludes="fanout",
    )


class MachineOptions(Options):
    """What a run may use of this machine or of a cluster."""

    jobs: int = option(1, whole(1, MOST_PROCESSES), "Number of networks to train at a time.", "machine")
    threads: int | None = option(
        None,
        whole(1, MOST_PROCESSES),
        "BLAS threads of each network.  [default: cores / --jobs]",
        "machine",
    )
    cluster: str | None = option(
        None, TEXT, "Address or file of a Dask scheduler to train on.", "machine", excludes="jobs"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cluster and "://" not in self.cluster and not Path(self.cluster).exists():
            raise ElmldaError(
                f"{self.cluster}: no such scheduler file.",
                "{cluster} takes an address such as tcp://HOST:8786, or that file.",
                cluster=None,
            )
        if self.jobs > 1 and self.jobs * (self.threads or 1) > count_cores():
            raise ElmldaError(
                f"this machine has {count_cores()} cores.",
                "{jobs} × {threads} is more: lower one of them.",
                jobs=self.jobs,
                threads=self.threads or 1,
            )

    @property
    def threads_each(self) -> int:
        """Number of BLAS threads of each network."""
        return self.threads or share_cores(self.jobs)

    def __str__(self) -> str:
        if self.cluster:
            return f"by the workers at {self.cluster}"
        return f"in {self.jobs} × {self.threads_each} threads"
