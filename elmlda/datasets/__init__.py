"""Data sets by name, or the user's own: CSV, NPZ, NPY and IDX files, DataFrames and arrays."""

from elmlda.datasets.catalogue import (
    DatasetInfo,
    FileCheck,
    fetch_dataset,
    find_info,
    list_datasets,
    load_dataset,
    verify_dataset,
)
from elmlda.datasets.split import Dataset, Split, draw_stratified_folds

__all__ = [
    "Dataset",
    "DatasetInfo",
    "FileCheck",
    "Split",
    "draw_stratified_folds",
    "fetch_dataset",
    "find_info",
    "list_datasets",
    "load_dataset",
    "verify_dataset",
]
