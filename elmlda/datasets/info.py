"""What is known of a data set without loading it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set without loading it.

    Attributes
    ----------
    name, title, origin, licence, citation : str
    n_train, n_test : int
        Of its own split or, if it has none, of the one that `split_table` draws.
    n_inputs : int
    image_shape : (int, int) or None
    classes : tuple of str
    where : Path
        The folder that it is read from.
    feature_names : tuple of str or None
        A name for each input, where they have names.
    has_own_split : bool
    is_standardised : bool
        Whether inputs are standardised by the training part; otherwise they are bytes / 255.
    is_here : bool
        Whether `where` has it: False if it has to be fetched first.
    """

    name: str
    title: str
    origin: str
    licence: str
    citation: str
    n_train: int
    n_test: int
    n_inputs: int
    image_shape: tuple[int, int] | None
    classes: tuple[str, ...]
    where: Path
    feature_names: tuple[str, ...] | None = None
    has_own_split: bool = True
    is_standardised: bool = False
    is_here: bool = True
