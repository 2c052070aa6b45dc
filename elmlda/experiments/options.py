"""What experiments are told: the same words, with the same defaults, as the command line's options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from elmlda.ranges import parse_ranges
from elmlda.settings import DatasetRef, NetworkSettings


@dataclass(frozen=True, kw_only=True)
class UnitOptions:
    """How hidden units work and outputs are used, whatever the input weights."""

    seed: int = 0
    activation: str = "tanh"
    input_scale: float | None = None
    min_field: int = 10
    bias: bool = False
    priors: str = "uniform"
    precision: str = "mixed"

    @property
    def settings(self) -> NetworkSettings:
        """What the networks are made by."""
        return NetworkSettings(**select(self, NetworkSettings))


@dataclass(frozen=True, kw_only=True)
class LayerOptions(UnitOptions):
    """How input weights are drawn."""

    input_weights: str = "uniform"
    weight_range: float = 0.5
    weight_norm: float = 2.0


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """Which data: of the catalogue by name, a .npz or .csv file, or a folder of IDX files."""

    dataset: str | None = None
    label: str | None = None
    drop: tuple[str, ...] = ()
    """Columns of a .csv file that are no inputs, by name or by number from 1."""
    data_dir: Path | None = None

    @property
    def dataset_ref(self) -> DatasetRef:
        folder = self.data_dir and Path(self.data_dir)
        return DatasetRef(self.dataset, folder, self.label, drop=tuple(self.drop))


def select(options: Any, wanted: type[Any]) -> dict[str, Any]:
    """Those of the options that a dataclass has fields for."""
    names = {field.name for field in fields(wanted)}
    return {
        field.name: getattr(options, field.name) for field in fields(options) if field.name in names
    }


def spell_call(experiment: Any, folder: Path, share: Any) -> str:
    """The Python call that conducts the experiment: whatever is not the default."""
    arguments = ", ".join([repr(str(folder)), *_changed(share)])
    return f"{type(experiment).__name__}({', '.join(_changed(experiment))}).run({arguments})"


def _changed(options: Any) -> Iterator[str]:
    for field in fields(options):
        value = getattr(options, field.name)
        if value != field.default:
            yield f"{field.name}={(str(value) if isinstance(value, Path) else value)!r}"


def read_numbers(numbers: str | int | Iterable[int]) -> tuple[int, ...]:
    """Fan-outs or hidden units, ascending: a number, several, or text such as 1-10,12."""
    if isinstance(numbers, Iterable) and not isinstance(numbers, str):
        numbers = ",".join(map(str, numbers))
    return parse_ranges(str(numbers))


def read_sizes(
    fanouts: str | int | Iterable[int], hidden: str | int | Iterable[int] | None, n_inputs: int
) -> tuple[int, ...]:
    """Hidden sizes: by fan-out, or as they are given."""
    if hidden is not None:
        return read_numbers(hidden)
    return tuple(n_inputs * fanout for fanout in read_numbers(fanouts))
