"""The data sets that elmlda knows by name, and how any data set is loaded."""

import difflib
import os
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from elmlda.datasets.content import explain_reading
from elmlda.datasets.csv_file import is_csv, load_csv
from elmlda.datasets.dataset import Dataset, FileCheck, Table, split_table
from elmlda.datasets.download import ProgressBar
from elmlda.datasets.idx import load_idx_folder, verify_idx_folder
from elmlda.datasets.known_sets import DatasetInfo, EmbeddedIdxSet, KnownSet, RemoteSet, TextSet
from elmlda.datasets.npz_file import load_npz
from elmlda.errors import ElmldaError

DEFAULT_NAME = "mnist"

PathLike = str | os.PathLike[str]


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
        return _find_known(name).load()
    if _is_file(path):
        return _load_file(path, label, drop)
    name = name if data_dir is not None else None
    dataset = load_idx_folder(path, name)
    for known in CATALOGUE.values():
        if dataset.checksums == known.content_sha256:  # a copy of one of the catalogue's
            about = known.info
            return replace(dataset, name=dataset.name if name else about.name, classes=about.classes)
    return dataset


def list_datasets() -> list[DatasetInfo]:
    """Describe every data set of the catalogue, without loading any."""
    return [known.info for known in CATALOGUE.values()]


def find_info(name: str) -> DatasetInfo | None:
    """Describe a data set of the catalogue; None for a file or folder of the user's own."""
    return None if _find_file(name, None) else _find_known(name).info


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
        return _find_known(name).verify()
    if _is_file(path):
        return [_verify_file(path, label, drop)]
    known = CATALOGUE.get(name or "")
    return verify_idx_folder(path, known.content_sha256 if known else {})


def fetch_dataset(
    name: str, source: PathLike | None = None, progress: ProgressBar | None = None
) -> list[str]:
    """Bring a data set here that is not part of the package; see `RemoteSet.fetch`."""
    known = _find_known(name)
    if not isinstance(known, RemoteSet):
        raise ElmldaError(f"{name} is part of elmlda: there is nothing to fetch.")
    return known.fetch(Path(source) if source is not None else None, progress)


def _find_file(name: str | None, data_dir: PathLike | None) -> Path | None:
    """The user's own file or folder that is meant; None if it is the catalogue's."""
    if data_dir is not None:
        return Path(data_dir)
    if not name or name in CATALOGUE:
        return None
    with explain_reading(name):
        path = Path(name).expanduser()
        if _is_file(path) or path.is_dir():
            return path
        if path.exists() or os.sep in name:
            found = "" if path.exists() else ": no such file or folder"
            raise ElmldaError(
                f"{name}{found}: expected a .npz or .csv file, or a folder of four IDX files."
            )
    return None


def _find_known(name: str | None) -> KnownSet:
    name = DEFAULT_NAME if name is None else name
    if name not in CATALOGUE:
        close = difflib.get_close_matches(name.lower(), CATALOGUE, n=1)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        raise ElmldaError(f"unknown data set {name!r}. {hint}Known: {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def _is_file(path: Path) -> bool:
    return path.name.endswith(".npz") or is_csv(path)


def _load_file(path: Path, label: str | None, drop: Sequence[str]) -> Dataset | Table:
    return load_csv(path, label, drop) if is_csv(path) else load_npz(path)


def _verify_file(path: Path, label: str | None, drop: Sequence[str]) -> FileCheck:
    try:
        source = _load_file(path, label, drop)
    except ElmldaError as error:
        if error.settings:  # the file may be sound: a setting is missing
            raise
        return FileCheck(path.name, path, False, str(error))
    splits = [source.samples] if isinstance(source, Table) else [source.train, source.test]
    counts = " + ".join(f"{len(split.labels):,}" for split in splits)
    message = f"{counts} × {source.n_inputs}, {source.n_classes} classes"
    return FileCheck(path.name, path, True, message)


def _make_known(name: str, about: dict[str, Any]) -> KnownSet:
    """The set that a table of sets.toml describes."""
    about = {key: tuple(value) if isinstance(value, list) else value for key, value in about.items()}
    files, mirrors = about.pop("files"), about.pop("mirrors", None)
    form, largest = about.pop("form", None), about.pop("largest", 1)
    info = DatasetInfo(name=name, where=HERE / name, **about)
    if mirrors:
        packed = {part: sha256[0] for part, sha256 in files.items()}
        content = {part: sha256[1] for part, sha256 in files.items() if len(sha256) > 1}
        return RemoteSet(info, mirrors, packed, content)
    return TextSet(info, files, form, 1 / largest) if form else EmbeddedIdxSet(info, files)


HERE = Path(__file__).parent
CATALOGUE = {
    name: _make_known(name, about)
    for name, about in tomllib.loads((HERE / "sets.toml").read_text("utf-8")).items()
}
MNIST_SHA256 = CATALOGUE["mnist"].content_sha256
