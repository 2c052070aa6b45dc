"""What every data set is, wherever it comes from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


# eq=False: arrays do not compare to one truth value, so what holds them compares by identity.
@dataclass(frozen=True, eq=False)
class Split:
    """Samples and their classes.

    Attributes
    ----------
    inputs : array, n_samples × n_inputs
        C-contiguous: uint8 as it was stored, otherwise float32 or float64.
    labels : int64 array, n_samples
        Class indices, 0 to n_classes - 1.
    """

    inputs: NDArray[Any]
    labels: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A training part, a test part, and what they mean.

    Attributes
    ----------
    name : str
    train, test : Split
    classes : tuple of str
        The label of each class index.
    image_shape : (int, int) or None
        Rows and columns of one sample, where samples are images.
    input_scale : float
        Inputs are multiplied by this before the hidden layer: 1/255 for unsigned bytes, else 1.
    checksums : dict
        Logical file name -> SHA-256 of the content after decompression.
    """

    name: str
    train: Split
    test: Split
    classes: tuple[str, ...]
    image_shape: tuple[int, int] | None
    input_scale: float
    checksums: dict[str, str]

    @property
    def n_inputs(self) -> int:
        """Number of inputs of one sample."""
        return int(self.train.inputs.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)


@dataclass(frozen=True)
class FileCheck:
    """What verifying one file of a data set found.

    Attributes
    ----------
    name : str
        The logical file name, as in `Dataset.checksums`.
    path : Path
    n_bytes : int or None
        Length of the content after decompression; None if it could not be read.
    expected_sha256 : str or None
        None if the data set is the user's own.
    found_sha256 : str or None
        None if the content could not be read.
    ok : bool
    message : str
        One line: what the file holds, or what is wrong with it.
    """

    name: str
    path: Path
    n_bytes: int | None
    expected_sha256: str | None
    found_sha256: str | None
    ok: bool
    message: str
