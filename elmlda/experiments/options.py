"""Options of experiments: the same names and defaults as on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from elmlda.errors import ElmldaError
from elmlda.machine import count_cores, share_cores
from elmlda.ranges import parse_ranges
from elmlda.settings import DEFAULT_CHUNK, DatasetRef, NetworkSettings, Resources


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


@dataclass(frozen=True)
class Share:
    """What a run may use of this machine or of a cluster, as for `run`; changes no result."""

    jobs: int = 1
    threads: int | None = None
    chunk: int = DEFAULT_CHUNK
    cluster: str | None = None

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
    names = {field.name for field in fields(wanted)}
    return {
        field.name: getattr(options, field.name) for field in fields(options) if field.name in names
    }


def spell_call(experiment: Any, folder: str | Path | None, share: Share) -> str:
    """The Python call that runs the experiment: whatever is not the default, no absolute path."""
    arguments = [repr(_shorten(Path(folder)))] if folder else []
    arguments += _changed(share)
    return f"{type(experiment).__name__}({', '.join(_changed(experiment))}).run({', '.join(arguments)})"


def _changed(options: Any) -> Iterator[str]:
    for field in fields(options):
        value = getattr(options, field.name)
        if value != field.default:
            yield f"{field.name}={_shorten(value)!r}"


def _shorten(value: Any) -> Any:
    """Of an absolute path only the name: on another machine the rest would mean nothing."""
    is_path = isinstance(value, Path) or (isinstance(value, str) and Path(value).is_absolute())
    if not is_path:
        return value
    return Path(value).name if Path(value).is_absolute() else str(value)


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
