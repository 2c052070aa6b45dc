"""Data sets by name, or the user's own: CSV, NPZ and IDX files, DataFrames and arrays."""

from elmlda.datasets.catalogue import CATALOGUE, DatasetInfo, fetch_dataset, load_dataset
from elmlda.datasets.split import Dataset, Split, draw_stratified_folds

__all__ = [
    "CATALOGUE",
    "Dataset",
    "DatasetInfo",
    "Split",
    "draw_stratified_folds",
    "fetch_dataset",
    "load_dataset",
]
