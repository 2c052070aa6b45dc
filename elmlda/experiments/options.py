"""Options of experiments: arguments in Python, and options of the command line.

Each is declared once, as a field with its default and its help: `elmlda.cli.options` makes an option
of it. This module is light to import, so that the command line can show its help at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, dataclass_transform

from elmlda.errors import ElmldaError
from elmlda.machine import count_cores, share_cores
from elmlda.ranges import parse_ranges
from elmlda.settings import (
    ACTIVATION_NAMES,
    DEFAULT_CHUNK,
    DESIGNS,
    INPUT_WEIGHTS,
    PAPER_RANGE,
    PRECISIONS,
    DatasetRef,
    NetworkSettings,
    Resources,
)
from elmlda.text import shorten_paths

WHAT, NETWORK, MACHINE, OUTPUT = "What to compute", "Network", "Machine", "Output"
"""Headings of a command's help."""

MOST_PROCESSES = 1024
Kind = TypeVar("Kind")

WholeNumbers: TypeAlias = str | int | Iterable[int]
"""One, several, or text such as 1-10,12."""
Numbers: TypeAlias = float | Iterable[float]
NameOrPath: TypeAlias = str
ContestantNames: TypeAlias = str | tuple[str, ...]
Ridge: TypeAlias = float | str
"""A number, or auto: chosen by generalised cross-validation."""


def setting(default: Any, help: str, **option: Any) -> Any:
    """A field that is an option of the command line.

    `option` adds to its name, annotation and default: `flags` if they are not the name, `group` of the
    help, `choices`, `limits` of a whole number, `metavar`, `multiple` if it may be given several times.
    """
    return field(default=default, metadata={"help": help, **option})


@dataclass_transform(kw_only_default=True, frozen_default=True)
def inherited(kind: type[Kind]) -> type[Kind]:
    """Make a dataclass to inherit from, without __init__ and the like, which would slow --help down."""
    return dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)(kind)


network, machine = partial(setting, group=NETWORK), partial(setting, group=MACHINE)
repeated = partial(setting, limits=(1, 10_000))
"""How many networks or ensembles: all are listed before the first is trained."""


def fanouts_setting(default: str) -> Any:
    """Several network sizes."""
    return setting(default, "Hidden units for each input: 1-20, or 1-10,12,15,20.", flags="--fanout")


def fanout_setting(default: int | None, more: str = "") -> Any:
    """One network size; `more` follows the help."""
    return setting(default, f"Hidden units for each input.{more}")


def hidden_setting(example: str = "") -> Any:
    """Hidden units instead of a fan-out."""
    return setting(None, f"Number of hidden units M, instead of --fanout{example}.")


hidden_sizes_setting = partial(hidden_setting, ": 100,500,1000-5000:1000")


@inherited
class CommonOptions:
    """What all experiments have."""

    seed: int = network(
        0, "Root seed of all random weights: the same seed gives the same networks.", limits=(0, None)
    )
    priors: str = network(
        "uniform",
        "Class priors π of Eq. (15): uniform, frequencies (of the training classes), or a number for "
        "each class, with commas.",
    )
    precision: str = network(
        "mixed",
        "mixed: float32 up to the Gram matrix, float64 from there; small networks as in "
        "double. double: float64 throughout. bfloat16: mixed, with hidden outputs rounded to bfloat16, "
        "which matrix units (Intel AMX) multiply faster with elmlda[amx].",
        choices=PRECISIONS,
    )


@inherited
class UnitOptions(CommonOptions):
    """How hidden units work, whatever their input weights."""

    activation: str = network(
        "tanh", "Activation function g of the hidden units, Eq. (2).", choices=ACTIVATION_NAMES
    )
    input_scale: float | None = network(
        None,
        "Inputs are multiplied by this, after any standardisation.  [default: 1/255 for bytes, else 1]",
    )
    min_field: int = network(
        10, "Number of pixels of the smallest receptive field, for receptive-field weights."
    )
    bias: bool = network(False, "Whether each hidden unit has a random bias; the paper's have none.")

    @property
    def settings(self) -> NetworkSettings:
        """What the networks are made by."""
        return NetworkSettings(**select(self, NetworkSettings))


def input_weights_setting() -> Any:
    """Kind of input weights."""
    return network(
        "uniform",
        "uniform: the paper's. constrained: differences of two training samples of different classes. "
        "receptive-field: in a random rectangle of the image only.",
        choices=INPUT_WEIGHTS,
    )


@inherited
class LayerOptions(UnitOptions):
    """How input weights are drawn."""

    input_weights: str = input_weights_setting()
    weight_range: float = network(PAPER_RANGE, "Uniform input weights are in ± this.")
    weight_norm: float = network(
        2.0, "Norm of each hidden unit's input weights, if they are not uniform."
    )


@inherited
class SourceOptions:
    """How data are read."""

    label: str | None = setting(None, "The column of a .csv file that has the class.", metavar="COLUMN")
    drop: tuple[str, ...] = setting(
        (),
        "CSV files: leave out this column, by its name or its number from 1, because it is no input. "
        "May be given several times.",
        metavar="COLUMN",
        multiple=True,
    )
    data_dir: Path | None = setting(
        None,
        "Folder with your own data in four IDX files, raw or .gz, named as MNIST's.",
        metavar="DIR",
    )


@inherited
class DataOptions(SourceOptions):
    """Which data."""

    dataset: NameOrPath | None = setting(
        None,
        "Data set of the catalogue (see elmlda data list), or your own: a .npz or .csv file, or a "
        "folder of four IDX files.  [default: mnist]",
        metavar="NAME|PATH",
    )

    @property
    def dataset_ref(self) -> DatasetRef:
        folder = self.data_dir and Path(self.data_dir)
        return DatasetRef(self.dataset, folder, self.label, drop=tuple(self.drop))


@inherited
class RidgeOptions(CommonOptions):
    """One ridge for all networks."""

    ridge: float = network(0.0, "Added to the diagonal of the Gram matrix; 0 is the paper's.")


@inherited
class NetworkOptions(DataOptions, LayerOptions, RidgeOptions):
    """Networks with one ridge, on data that are divided once and for all."""

    design: str = network(
        "nested",
        "nested: fan-out f is the first part of one large network, which is fast. independent: new "
        "weights for each fan-out, as in the paper.",
        choices=DESIGNS,
    )


@dataclass(frozen=True)
class Share:
    """What a run may use of this machine or of a cluster, as for `run`; changes no result."""

    jobs: int = machine(
        1, "Networks to train at the same time, each in its own process.", limits=(1, MOST_PROCESSES)
    )
    threads: int | None = machine(
        None,
        "BLAS threads of each network.  [default: the cores, divided by --jobs; fewer if "
        "OPENBLAS_NUM_THREADS or OMP_NUM_THREADS says so]",
        limits=(1, MOST_PROCESSES),
    )
    chunk: int = machine(
        DEFAULT_CHUNK,
        "Samples whose hidden outputs are in memory at a time: fewer take less memory and more time.",
    )
    cluster: NameOrPath | None = machine(
        None,
        "Train on a Dask cluster instead: its scheduler's address, such as tcp://HOST:8786, or its "
        "scheduler file.",
        metavar="ADDRESS|FILE",
    )

    def __post_init__(self) -> None:
        if self.cluster and self.jobs > 1:
            raise ElmldaError(
                "",
                "{cluster} and {jobs} exclude each other: start more workers instead.",
                cluster=None,
                jobs=self.jobs,
            )
        if self.cluster and self.threads:
            raise ElmldaError(
                "",
                "{cluster} and {threads} exclude each other: each worker has its own threads.",
                cluster=None,
                threads=None,
            )
        if self.jobs > 1 and self.jobs * (self.threads or 1) > count_cores():
            raise ElmldaError(
                f"this machine has {count_cores()} cores.",
                "{jobs} × {threads} is more: lower one of them.",
                jobs=self.jobs,
                threads=self.threads or 1,
            )

    def resources(self) -> Resources:
        """Of each network."""
        return Resources(self.threads or share_cores(self.jobs), self.chunk)


def select(options: Any, wanted: type[Any]) -> dict[str, Any]:
    """Those of the options that a dataclass has fields for."""
    names = {each.name for each in fields(wanted)}
    return {name: value for name, value in vars(options).items() if name in names}


def spell_call(experiment: Any, folder: str | Path | None, share: Share) -> str:
    """The Python call that runs the experiment: whatever is not the default, no absolute path."""
    arguments = [repr(_shorten(Path(folder)))] if folder else []
    arguments += _changed(share)
    return f"{type(experiment).__name__}({', '.join(_changed(experiment))}).run({', '.join(arguments)})"


def _changed(options: Any) -> Iterator[str]:
    for each in fields(options):
        value = getattr(options, each.name)
        if value != each.default:
            yield f"{each.name}={_shorten(value)!r}"


def _shorten(value: Any) -> Any:
    """Only the name of an absolute path, since its folder exists on this machine alone."""
    if isinstance(value, str | Path):
        return shorten_paths(value)
    # Not of a subclass: a named tuple is made otherwise, and has no paths.
    return type(value)(map(_shorten, value)) if type(value) in (list, tuple) else value


def read_numbers(numbers: WholeNumbers) -> tuple[int, ...]:
    """Fan-outs or hidden units, ascending: a number, several, or text such as 1-10,12."""
    if isinstance(numbers, Iterable) and not isinstance(numbers, str):
        numbers = ",".join(map(str, numbers))
    return parse_ranges(str(numbers))


def read_sizes(fanouts: WholeNumbers, hidden: WholeNumbers | None, n_inputs: int) -> tuple[int, ...]:
    """Hidden sizes: by fan-out, or as they are given."""
    if hidden is not None:
        return read_numbers(hidden)
    return tuple(n_inputs * fanout for fanout in read_numbers(fanouts))
