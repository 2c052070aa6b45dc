"""The data sets that elmlda knows by name, how they are fetched, and how any data set is loaded."""

from __future__ import annotations

import difflib
import io
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from elmlda.datasets.arrays import (
    MISSING_NOTES,
    assemble_idx,
    build_dataset,
    find_parts,
    hash_content,
    load_npz,
    load_pair,
    read_content,
)
from elmlda.datasets.split import Dataset
from elmlda.datasets.tables import TABLE_SUFFIXES, Table, load_table
from elmlda.errors import ElmldaError, printable

HERE = Path(__file__).parent
FOLDER_VARIABLE = "ELMLDA_DATA"
TIMEOUT_SECONDS = (10, 30)
"""How long a mirror may take to connect, and between two parts of its answer."""
PathLike = str | os.PathLike[str]
Source = PathLike | pd.DataFrame | tuple[Any, Any]


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set without loading it: a table of sets.toml, which explains it."""

    name: str
    title: str
    origin: str
    licence: str
    citation: str
    n_samples: list[int]
    n_inputs: int
    classes: list[str]
    files: Mapping[str, list[str]]
    columns: list[Any] | None = None
    image_shape: list[int] | None = None
    largest: int = 255
    mirrors: tuple[str, ...] = ()
    read_csv: Mapping[str, Any] | None = None
    bounds: list[int] | None = None

    @property
    def where(self) -> Path:
        """The folder that it is read from: the package's or, of what is fetched, the user's."""
        if not self.mirrors:
            return HERE / self.name
        import pooch  # not at the top: it takes as long to import as `elmlda --help` takes to answer

        folder = os.environ.get(FOLDER_VARIABLE) or pooch.os_cache("elmlda")
        return Path(folder).expanduser() / self.name

    @property
    def is_here(self) -> bool:
        try:
            return bool(self.find_files())
        except ElmldaError:
            return False

    @property
    def checksums(self) -> dict[str, str]:
        """SHA-256 of each file's content, for a run's manifest."""
        return {name: sums[-1] for name, sums in self.files.items()}

    def find_files(self) -> dict[str, Path]:
        """The path of each file; an error says that they are to be fetched."""
        if self.read_csv is not None:
            return {name: next(self.where.glob(f"{name}*"), self.where / name) for name in self.files}
        try:
            return find_parts(self.where)
        except ElmldaError as error:
            fact = f"{self.name} is not here yet (looked in {self.where})."
            raise ElmldaError(f"{fact} Fetch it first: elmlda data fetch {self.name}") from error

    def read(self, name: str, path: Path) -> bytes:
        """The content of a file, if that or the file has the checksum of the original."""
        content, stored = read_content(path), read_content(path, unpack=False)
        if not {hash_content(content), hash_content(stored)} & {*self.files[name]}:
            fact = f"{path}: SHA-256 {hash_content(content)}, expected {self.checksums[name]}"
            raise ElmldaError(f"{fact}: not the original of {self.name}.")
        return content

    def load(self) -> Dataset:
        contents = {name: (path, self.read(name, path)) for name, path in self.find_files().items()}
        if self.read_csv is None:
            data = assemble_idx(self.name, contents)
        else:
            data = self._load_csv({name: content for name, (_, content) in contents.items()})
        return replace(data, classes=tuple(self.classes))

    def _load_csv(self, contents: Mapping[str, bytes]) -> Dataset:
        names = self.columns or map(str, range(self.n_inputs))
        columns = [{"name": each} if isinstance(each, str) else each for each in names]
        arrays = dict[str, Any]()
        for name, content in contents.items():
            options: dict[str, Any] = {"dtype": object, "na_filter": False}
            options["names"] = [*(each["name"] for each in columns), "class"]
            cells = pd.read_csv(io.BytesIO(content), **options, **self.read_csv or {})
            table = Table(name, cells, cells.index)
            inputs = np.hstack([table.encode(each["name"], each)[1] for each in columns])
            labels = cells["class"].to_numpy(np.float64)
            arrays[name] = inputs.astype(np.uint8) if self.image_shape else inputs
            arrays[f"{name}, classes"] = np.searchsorted(self.bounds, labels) if self.bounds else labels
        data = build_dataset(self.name, arrays, self.checksums)
        if self.image_shape:
            rows, width = self.image_shape
            return replace(data, input_scale=1 / self.largest, image_shape=(rows, width))
        return replace(data, columns=columns)


def load_dataset(
    source: Source = "mnist", *, label: object = None, drop: Any = (), missing: str | None = None
) -> Dataset:
    """Load a data set; `Dataset.split` makes the training and the test part that networks take.

    Parameters
    ----------
    source : a name of the catalogue; a .csv, .tsv, .txt or .npz file; a folder of four IDX files named
        as MNIST's are; a DataFrame; or inputs and labels, (X, y)
    label : the column of a table that has the class, by name or by number from 1
    drop : columns of a table that are no inputs, by name or number
    missing : what to do about missing values: "drop" leaves such samples out, "mean" fills them with
        the training part's mean; otherwise they are refused
    """
    if missing not in (None, *MISSING_NOTES):
        raise ElmldaError(f"missing is {missing!r}, expected drop or mean.")
    if isinstance(source, tuple) and isinstance(source[0], pd.DataFrame):
        label = "y" if "y" not in source[0] else "y (labels)"
        source = source[0].assign(**{label: np.asarray(source[1])})
    if isinstance(source, pd.DataFrame):
        return load_table(source, label, drop, missing)
    path = None if isinstance(source, tuple) else _find_path(source)
    if path and path.name.lower().endswith(TABLE_SUFFIXES):
        return load_table(path, label, drop, missing)
    if label is not None or np.size(drop):
        what = "(X, y)" if isinstance(source, tuple) else source
        fact = f"{what} is no table with columns to name."
        raise ElmldaError(fact, "Leave out {}.", **{"drop" if label is None else "label": None})
    if isinstance(source, tuple):
        return load_pair(*source, missing)
    if path is None:
        return _find_known(source).load()
    if path.suffix == ".npz":
        return load_npz(path, missing)
    contents = {part: (file, read_content(file)) for part, file in find_parts(path).items()}
    dataset = assemble_idx(printable(path.resolve().name), contents)
    for known in CATALOGUE.values():  # a copy of one of the catalogue's
        if dataset.checksums == known.checksums:
            return replace(dataset, name=known.name, classes=tuple(known.classes))
    return dataset


def fetch_dataset(name: str, progress: bool = False) -> list[str]:
    """Download the files of a data set that are not here yet, and say where each is from."""
    known = _find_known(name)
    if not known.mirrors:
        raise ElmldaError(f"{name} is part of elmlda: there is nothing to fetch.")
    try:
        return [_download(known, part, progress) for part in known.files]
    except OSError as error:
        fact = f"{known.where}: cannot be written: {error.strerror or error}."
        raise ElmldaError(f"{fact} Set {FOLDER_VARIABLE} to a folder that can.") from error


def _download(known: DatasetInfo, part: str, progress: bool) -> str:
    """Try the mirrors in turn for a file; pooch keeps it only if it has the checksum."""
    import pooch
    from requests.exceptions import RequestException

    name, failures = f"{part}-{'idx3' if part.endswith('images') else 'idx1'}-ubyte.gz", []
    pooch.get_logger().setLevel("ERROR")  # the command line says what was done
    downloader = pooch.HTTPDownloader(progressbar=progress, timeout=TIMEOUT_SECONDS)
    for mirror in known.mirrors:
        try:
            sha256 = f"sha256:{known.files[part][0]}"
            pooch.retrieve(mirror + name, sha256, name, known.where, downloader=downloader)
            return f"{name}: here, from {mirror}"
        except (RequestException, ValueError) as error:  # ValueError: another checksum
            failures.append(f"{mirror}: {' '.join(str(error).split())[:200]}")
    fact = f"{known.name}: {name} could not be fetched ({'; '.join(failures)})."
    raise ElmldaError(f"{fact} Try again later or, if you have the files, copy them to {known.where}.")


def _find_path(source: PathLike) -> Path | None:
    """The user's own file or folder that is meant; None if it is the catalogue's."""
    path = Path(source).expanduser()
    if str(source) in ("", *CATALOGUE) or not (path.suffix or path.exists() or os.sep in str(source)):
        return None
    if path.is_dir() or path.name.lower().endswith((*TABLE_SUFFIXES, ".npz")):
        return path
    fact = f"{path}: {'not' if path.exists() else 'no such file or folder, expected'}"
    raise ElmldaError(f"{fact} a .csv, .tsv, .txt or .npz file, or a folder of four IDX files.")


def _find_known(name: object) -> DatasetInfo:
    if str(name) in CATALOGUE:
        return CATALOGUE[str(name)]
    close = difflib.get_close_matches(str(name).lower(), CATALOGUE, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    raise ElmldaError(f"unknown data set {str(name)!r}. {hint}Known: {', '.join(CATALOGUE)}.")


CATALOGUE = {
    name: DatasetInfo(name, **about)
    for name, about in tomllib.loads((HERE / "sets.toml").read_text("utf-8")).items()
}
MNIST_SHA256 = CATALOGUE["mnist"].checksums
