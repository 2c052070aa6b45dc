"""Data sets by name, or from a folder of the user's own IDX files."""

from elmlda.datasets.catalogue import (
    DatasetInfo,
    list_datasets,
    load_dataset,
    verify_dataset,
)
from elmlda.datasets.dataset import Dataset, FileCheck, Split
from elmlda.datasets.idx import read_idx

__all__ = [
    "Dataset",
    "DatasetInfo",
    "FileCheck",
    "Split",
    "list_datasets",
    "load_dataset",
    "read_idx",
    "verify_dataset",
]
