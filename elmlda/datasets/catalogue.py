"""The data sets that elmlda knows by name, and how any data set is loaded."""

import difflib
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from elmlda.datasets.content import explain_reading
from elmlda.datasets.csv_file import is_csv
from elmlda.datasets.csv_table import load_csv
from elmlda.datasets.dataset import Dataset, FileCheck, Table
from elmlda.datasets.download import ProgressBar, RemoteFile
from elmlda.datasets.folds import split_table
from elmlda.datasets.idx_folder import load_idx_folder, verify_idx_folder
from elmlda.datasets.info import DatasetInfo
from elmlda.datasets.npz_file import load_npz
from elmlda.datasets.remote_sets import RemoteSet, name_file
from elmlda.datasets.text_sets import TextSet
from elmlda.errors import ElmldaError

DEFAULT_NAME = "mnist"

PathLike = str | os.PathLike[str]


class Entry(Protocol):
    """A data set of the catalogue."""

    @property
    def info(self) -> DatasetInfo:
        """What is known of it without loading it."""

    @property
    def content_sha256(self) -> Mapping[str, str]:
        """File or part -> SHA-256 of its content after decompression, where that is known."""

    def load(self) -> Dataset | Table:
        """Read it and compare it with its checksums."""

    def verify(self) -> list[FileCheck]:
        """Check each of its files, going on after a broken one."""


@dataclass(frozen=True)
class EmbeddedIdxSet:
    """Four IDX files that come with the package."""

    info: DatasetInfo
    content_sha256: Mapping[str, str]

    def load(self) -> Dataset:
        """Read the files and compare them with their checksums."""
        return load_idx_folder(self.info.where, self.info.name, self.content_sha256)

    def verify(self) -> list[FileCheck]:
        """Check each file, going on after a broken one."""
        return verify_idx_folder(self.info.where, self.content_sha256)


def load_dataset(
    name: str | None = None,
    data_dir: PathLike | None = None,
    label: str | None = None,
    drop: Sequence[str] = (),
) -> Dataset:
    """Load a data set, ready for a network: a table is divided by `split_table`.

    Parameters
    ----------
    name : str, optional
        A name of the catalogue, "mnist" unless given; or a .npz, .csv or .tsv file, or a folder of IDX
        files, of the user's own. With `data_dir` it is only what the data set is called, the
        folder's own name unless given.
    data_dir : path, optional
        A folder of IDX files, named as MNIST's are: see `load_idx_folder`.
    label : str, optional
        The column of a .csv file that has the class.
    drop : sequence of str, optional
        Columns of a .csv file that are no inputs, by name or by number from 1.

    Raises
    ------
    ElmldaError
        If the name is unknown, a file is missing, broken, not the original or does not fit the others,
        or the data set has to be fetched first.
    """
    source = load_source(name, data_dir, label, drop)
    return split_table(source) if isinstance(source, Table) else source


def load_source(
    name: str | None = None,
    data_dir: PathLike | None = None,
    label: str | None = None,
    drop: Sequence[str] = (),
) -> Dataset | Table:
    """Load a data set as it comes: a `Table` if it has no split of its own.

    Parameters and errors as in `load_dataset`.
    """
    path = _find_file(name, data_dir)
    if (label is not None or drop) and not (path and is_csv(path)):
        setting = "drop" if label is None else "label"
        raise ElmldaError(
            f"{path or name or DEFAULT_NAME}: not a .csv file, so there is no column to name.",
            "Leave out {}.",
            **{setting: None},
        )
    if path is None:
        return _find_entry(name).load()
    if is_csv(path):
        return load_csv(path, label, drop)
    if path.name.endswith(".npz"):
        return load_npz(path)
    name = name if data_dir is not None else None
    return _name_known(load_idx_folder(path, name), name)


def list_datasets() -> list[DatasetInfo]:
    """Describe every data set of the catalogue, without loading any."""
    return [entry.info for entry in CATALOGUE.values()]


def find_info(name: str) -> DatasetInfo | None:
    """Describe a data set of the catalogue; None for a file or folder of the user's own."""
    return None if _find_file(name, None) else _find_entry(name).info


def verify_dataset(
    name: str | None = None,
    data_dir: PathLike | None = None,
    label: str | None = None,
    drop: Sequence[str] = (),
) -> list[FileCheck]:
    """Check every file of a data set, whether it is sound or not; parameters as in `load_dataset`.

    Files of `data_dir` are compared with the catalogue's checksums if `name` is one of its names, else
    they have no expected checksum; if each is sound but they do not belong together, one more check
    says so. Broken or missing files raise nothing; an unknown name or a set to be fetched does.
    """
    path = _find_file(name, data_dir)
    if path is None:
        return _find_entry(name).verify()
    if is_csv(path) or path.name.endswith(".npz"):
        return _verify_file(path, label, drop)
    entry = CATALOGUE.get(name or "")
    return verify_idx_folder(path, entry.content_sha256 if entry else {})


def fetch_dataset(
    name: str, source: PathLike | None = None, progress: ProgressBar | None = None
) -> list[str]:
    """Bring a data set here that is not part of the package; see `RemoteSet.fetch`."""
    entry = _find_entry(name)
    if not isinstance(entry, RemoteSet):
        raise ElmldaError(f"{name} is part of elmlda: there is nothing to fetch.")
    return entry.fetch(Path(source) if source is not None else None, progress)


def _find_file(name: str | None, data_dir: PathLike | None) -> Path | None:
    """The user's own file or folder that is meant; None if it is the catalogue's."""
    if data_dir is not None:
        return Path(data_dir)
    if not name or name in CATALOGUE:
        return None
    with explain_reading(name):
        path = Path(name).expanduser()
        is_file = path.name.endswith(".npz") or is_csv(path)
        if is_file or path.is_dir():
            return path
        if path.exists() or os.sep in name:
            found = "" if path.exists() else ": no such file or folder"
            raise ElmldaError(
                f"{name}{found}: expected a .npz or .csv file, or a folder of four IDX files."
            )
    return None


def _find_entry(name: str | None) -> Entry:
    name = DEFAULT_NAME if name is None else name
    if name not in CATALOGUE:
        close = difflib.get_close_matches(name.lower(), CATALOGUE, n=1)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        raise ElmldaError(f"unknown data set {name!r}. {hint}Known: {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def _name_known(dataset: Dataset, name: str | None) -> Dataset:
    """Give a copy of one of the catalogue's sets its name, unless it has one, and its classes."""
    for entry in CATALOGUE.values():
        if dataset.checksums == entry.content_sha256:
            return replace(
                dataset, name=dataset.name if name else entry.info.name, classes=entry.info.classes
            )
    return dataset


def _verify_file(path: Path, label: str | None, drop: Sequence[str]) -> list[FileCheck]:
    try:
        source = load_csv(path, label, drop) if is_csv(path) else load_npz(path)
    except ElmldaError as error:
        if error.settings:  # the file may be sound: a setting is missing
            raise
        return [FileCheck(path.name, path, False, str(error))]
    splits = [source.samples] if isinstance(source, Table) else [source.train, source.test]
    counts = " + ".join(f"{len(split.labels):,}" for split in splits)
    message = f"{counts} × {source.n_inputs}, {source.n_classes} classes"
    return [FileCheck(path.name, path, True, message)]


def _read_catalogue() -> dict[str, Entry]:
    with (HERE / "sets.toml").open("rb") as file:
        return {name: _make_entry(name, about) for name, about in tomllib.load(file).items()}


def _make_entry(name: str, about: dict[str, Any]) -> Entry:
    """The set that a table of sets.toml describes."""
    known: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in about.items()
    }
    files, mirrors = known.pop("files"), known.pop("mirrors", None)
    form, largest = known.pop("form", None), known.pop("largest", 1)
    info = DatasetInfo(name=name, where=HERE / name, **known)
    if mirrors:
        parts = {part: RemoteFile(name_file(part), *sha256) for part, sha256 in files.items()}
        return RemoteSet(info, mirrors, parts)
    return TextSet(info, files, form, 1 / largest) if form else EmbeddedIdxSet(info, files)


HERE = Path(__file__).parent
CATALOGUE = _read_catalogue()
MNIST_SHA256 = CATALOGUE["mnist"].content_sha256
