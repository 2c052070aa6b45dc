"""Data sets by name, or from the user's own files: IDX, NPZ, CSV."""

from elmlda.datasets.catalogue import (
    fetch_dataset,
    find_info,
    list_datasets,
    load_dataset,
    load_source,
    verify_dataset,
)
from elmlda.datasets.dataset import (
    Dataset,
    FileCheck,
    Split,
    Table,
    draw_stratified_folds,
    require_two_of_each,
    split_table,
)
from elmlda.datasets.idx import read_idx
from elmlda.datasets.known_sets import DatasetInfo

__all__ = [
    "Dataset",
    "DatasetInfo",
    "FileCheck",
    "Split",
    "Table",
    "draw_stratified_folds",
    "fetch_dataset",
    "find_info",
    "list_datasets",
    "load_dataset",
    "load_source",
    "read_idx",
    "require_two_of_each",
    "split_table",
    "verify_dataset",
]
