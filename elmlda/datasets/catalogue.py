"""The data sets that elmlda knows by name."""

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from elmlda.datasets.dataset import Dataset, FileCheck
from elmlda.datasets.idx_folder import load_idx_folder, verify_idx_folder
from elmlda.errors import ElmldaError

DEFAULT_NAME = "mnist"


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set without loading it.

    Attributes
    ----------
    name, title, origin, licence : str
    n_train, n_test, n_inputs : int
    image_shape : (int, int) or None
    classes : tuple of str
    where : Path
        The folder or file that it is read from.
    """

    name: str
    title: str
    origin: str
    licence: str
    n_train: int
    n_test: int
    n_inputs: int
    image_shape: tuple[int, int] | None
    classes: tuple[str, ...]
    where: Path


@dataclass(frozen=True)
class _Entry:
    info: DatasetInfo
    load: Callable[[], Dataset]
    verify: Callable[[], list[FileCheck]]


def load_dataset(name: str | None = None, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set of the catalogue, or the four IDX files in a folder.

    Parameters
    ----------
    name : str, optional
        A name of the catalogue, "mnist" unless given. With `data_dir` it is only what the data set
        is called, the folder's own name unless given.
    data_dir : path, optional
        A folder of IDX files, named as MNIST's are: see `load_idx_folder`.

    Returns
    -------
    Dataset
        Its content compared with the known checksums, if it is from the catalogue.

    Raises
    ------
    ElmldaError
        If the name is unknown, or a file is missing, broken or does not fit the others.
    """
    if data_dir is not None:
        return load_idx_folder(Path(data_dir), name)
    return _find_entry(name).load()


def list_datasets() -> list[DatasetInfo]:
    """Describe every data set of the catalogue, without loading any."""
    return [entry.info for entry in CATALOGUE.values()]


def verify_dataset(
    name: str | None = None, data_dir: str | os.PathLike[str] | None = None
) -> list[FileCheck]:
    """Check every file of a data set; parameters as in `load_dataset`.

    Returns
    -------
    list of FileCheck
        One for each file, whether it is sound or not. Files of `data_dir` have no expected
        checksum; if each is sound but they do not belong together, one more check says so.

    Raises
    ------
    ElmldaError
        If the name is unknown or there is no such folder; not for a broken or missing file.
    """
    if data_dir is not None:
        return verify_idx_folder(Path(data_dir))
    return _find_entry(name).verify()


def _find_entry(name: str | None) -> _Entry:
    name = DEFAULT_NAME if name is None else name
    if name not in CATALOGUE:
        close = difflib.get_close_matches(name.lower(), CATALOGUE, n=1)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        raise ElmldaError(f"unknown data set {name!r}. {hint}Known: {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


MNIST_FOLDER = Path(__file__).parent / "mnist"
# Of the content after decompression.
MNIST_SHA256 = {
    "train-images": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}

CATALOGUE = {
    "mnist": _Entry(
        info=DatasetInfo(
            name="mnist",
            title="MNIST handwritten digits",
            origin="Yann LeCun, Corinna Cortes and Christopher J. C. Burges",
            licence="CC BY-SA 3.0",
            n_train=60_000,
            n_test=10_000,
            n_inputs=784,
            image_shape=(28, 28),
            classes=tuple("0123456789"),
            where=MNIST_FOLDER,
        ),
        load=partial(load_idx_folder, MNIST_FOLDER, "mnist", MNIST_SHA256),
        verify=partial(verify_idx_folder, MNIST_FOLDER, MNIST_SHA256),
    ),
}
