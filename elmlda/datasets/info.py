"""What is known of a data set without loading it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set without loading it: a table of sets.toml."""

    name: str
    title: str
    origin: str
    licence: str
    citation: str
    n_train: int
    """Of its own split or, if it has none, of the one that `split_table` draws; `n_test` likewise."""
    n_test: int
    n_inputs: int
    classes: tuple[str, ...]
    where: Path
    """The folder that it is read from."""
    image_shape: tuple[int, int] | None = None
    feature_names: tuple[str, ...] | None = None
    has_own_split: bool = True
    is_standardised: bool = False
    """Otherwise inputs are pixels, brought to 0 to 1 by one factor for all."""
    is_here: bool = True
    """Whether `where` has it: False if it has to be fetched first."""
