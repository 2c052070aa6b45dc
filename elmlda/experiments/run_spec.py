"""A run that is about to be conducted: its data, its folder and its share of the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from elmlda.datasets import Dataset, Table, find_info
from elmlda.datasets.catalogue import MNIST_SHA256
from elmlda.errors import ElmldaError
from elmlda.machine import count_cores, share_cores
from elmlda.settings import DEFAULT_CHUNK, DatasetRef, Resources

Loader = Callable[[DatasetRef], Dataset | Table]


@dataclass(frozen=True)
class Share:
    """What a run may use of this machine or of a cluster; changes no result."""

    jobs: int = 1
    """Networks side by side, each in a process."""
    threads: int | None = None
    """BLAS threads of each; None: the cores, shared by those side by side."""
    chunk: int = DEFAULT_CHUNK
    """Samples whose hidden outputs are held at a time."""
    cluster: str | None = None
    """A Dask scheduler's address or its scheduler file, whose workers train the networks instead."""

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


@dataclass(frozen=True)
class RunSpec:
    """An experiment's data, folder and share."""

    data: Dataset | Table
    ref: DatasetRef
    """How a job's process finds the data."""
    folder: Path
    share: Share

    @property
    def dataset(self) -> Dataset:
        """The data, where they are divided into a training and a test part."""
        assert isinstance(self.data, Dataset)
        return self.data

    @property
    def resources(self) -> Resources:
        return self.share.resources()

    @property
    def input_bytes(self) -> int:
        """Memory of the data."""
        if isinstance(self.data, Table):
            return self.data.samples.nbytes
        return self.data.train.nbytes + self.data.test.nbytes

    @property
    def posteriors_shape(self) -> tuple[int, int]:
        """Test samples × classes; none where the data are not divided once and for all."""
        n_test = len(self.data.test.labels) if isinstance(self.data, Dataset) else 0
        return n_test, self.data.n_classes

    def with_share(self, chunk: int, jobs: int) -> RunSpec:
        """The same with another chunk and number of jobs."""
        return replace(self, share=replace(self.share, chunk=chunk, jobs=jobs))

    def in_folder(self, folder: Path) -> RunSpec:
        """The same in another folder."""
        return replace(self, folder=folder)

    @property
    def is_papers_data(self) -> bool:
        return self.data.checksums == MNIST_SHA256


def find_anywhere(ref: DatasetRef) -> DatasetRef:
    """The same data for a process in another folder."""
    name = ref.name
    if ref.data_dir is None and name and find_info(name) is None:
        name = str(Path(name).expanduser().absolute())
    return replace(ref, name=name, data_dir=ref.data_dir and ref.data_dir.absolute())
