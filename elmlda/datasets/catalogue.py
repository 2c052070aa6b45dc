"""The catalogue of data sets, how they are downloaded, and how any data set is loaded."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from elmlda.datasets import HERE, SETS, check_source, expand_path, is_table, unknown_name
from elmlda.datasets.arrays import (
    MISSING_NOTES,
    assemble_idx,
    build_dataset,
    find_parts,
    load_npz,
    load_pair,
    read_content,
)
from elmlda.datasets.split import Dataset
from elmlda.datasets.tables import load_table
from elmlda.errors import ElmldaError, printable
from elmlda.options import checks_names

FOLDER_VARIABLE = "ELMLDA_DATA"
Source = str | os.PathLike[str] | pd.DataFrame | tuple[Any, Any]


@dataclass(frozen=True)
class DatasetInfo:
    """Description of a data set; the comments in sets.toml explain the fields."""

    name: str
    title: str
    origin: str
    licence: str
    citation: str
    n_samples: list[int]
    n_inputs: int
    classes: list[str]
    files: Mapping[str, list[str]]
    columns: list[str] | None = None
    image_shape: list[int] | None = None
    largest: int = 255
    mirrors: tuple[str, ...] = ()
    read_csv: Mapping[str, Any] | None = None
    bounds: list[int] | None = None

    @property
    def where(self) -> Path:
        """Folder of the files: in the package or, for downloaded data sets, the user's."""
        if not self.mirrors:
            return HERE / self.name
        import pooch  # slow to import, and not needed for data sets of the package

        folder = os.environ.get(FOLDER_VARIABLE) or pooch.os_cache("elmlda")
        return expand_path(folder) / self.name

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
        """Return the path of each file; an error says how to download missing files."""
        if self.read_csv is not None:
            return {name: next(self.where.glob(f"{name}*"), self.where / name) for name in self.files}
        try:
            return find_parts(self.where)
        except ElmldaError as error:
            fact = f"{self.name} is not here yet (looked in {self.where})."
            raise ElmldaError(f"{fact} Fetch it first: elmlda data fetch {self.name}") from error

    def load(self) -> Dataset:
        """Load the data set; the SHA-256 of each file, packed or unpacked, must be the original's."""
        contents = {name: (path, read_content(path)) for name, path in self.find_files().items()}
        for name, (path, content) in contents.items():
            sums = [hashlib.sha256(data).hexdigest() for data in (content, path.read_bytes())]
            if not {*sums} & {*self.files[name]}:
                fact = f"{path}: SHA-256 {sums[0]}, expected {self.checksums[name]}"
                raise ElmldaError(f"{fact}: not the original of {self.name}.")
        is_idx = self.read_csv is None
        dataset = assemble_idx(self.name, contents) if is_idx else self._load_csv(contents)
        return replace(dataset, classes=tuple(self.classes))

    def _load_csv(self, contents: Mapping[str, tuple[Path, bytes]]) -> Dataset:
        features = self.columns or [str(i) for i in range(self.n_inputs)]
        # "sex=M" is a category of the column "sex".
        columns, _, words = zip(*(feature.partition("=") for feature in features), strict=True)
        names = [*dict.fromkeys(columns), "class"]
        options = {"names": names, "dtype": object, "na_filter": False, **(self.read_csv or {})}
        arrays = dict[str, Any]()
        for part, (_, content) in contents.items():
            cells = pd.read_csv(io.BytesIO(content), **options)
            pairs = zip(columns, words, strict=True)
            # Python's conversion to float is exact, pandas' depends on the version.
            values = [cells[key] == word if word else cells[key].astype(float) for key, word in pairs]
            inputs, labels = np.column_stack(values), cells["class"].to_numpy(float)
            if self.image_shape:
                inputs = inputs.astype(np.uint8).reshape(-1, *self.image_shape)
            arrays[part] = inputs
            arrays[f"{part}, classes"] = np.searchsorted(self.bounds, labels) if self.bounds else labels
        dataset = build_dataset(self.name, arrays, self.checksums)
        if self.image_shape:
            return replace(dataset, input_scale=1 / self.largest)
        return replace(dataset, feature_names=tuple(features))


@checks_names
def load_dataset(
    source: Source = "mnist",
    *,
    label: object = None,
    drop: Any = (),
    missing: str | None = None,
    header: bool | None = None,
) -> Dataset:
    """Load a data set; `Dataset.split` returns the training and the test part for a network.

    Parameters
    ----------
    source : the name of a data set in the catalogue; a .csv, .tsv, .txt or .npz file; a folder of four
        IDX files named like MNIST's; a DataFrame; or inputs and labels, (X, y)
    label : the column of a table that holds the class, by name or by number from 1
    drop : columns of a table that are not inputs, by name or number
    missing : how to treat missing values: "drop" leaves out samples with missing values, "mean" fills
        them with the training part's means, None refuses them
    header : whether the first line of a CSV file holds the columns' names; None finds out, and refuses
        a file that does not tell
    """
    if missing not in (None, *MISSING_NOTES):
        raise ElmldaError(f"missing is {missing!r}, expected drop or mean.")
    if isinstance(source, tuple) and isinstance(source[0], pd.DataFrame):
        label = "y" if "y" not in source[0] else "y (labels)"
        source = source[0].assign(**{label: np.asarray(source[1])})
    if isinstance(source, str | os.PathLike) and is_table(Path(source)):
        return load_table(source, label, drop, missing, header)
    if header is not None:
        fact = "only CSV files have a first line that may hold column names."
        raise ElmldaError(fact, "Leave out {}.", header=header)
    if isinstance(source, pd.DataFrame):
        return load_table(source, label, drop, missing)
    if label is not None or np.size(drop):
        fact = f"{'(X, y)' if isinstance(source, tuple) else source} is no table with columns to name."
        raise ElmldaError(fact, "Leave out {}.", **{"drop" if label is None else "label": None})
    if isinstance(source, tuple):
        return load_pair(*source, missing)
    if str(source) in CATALOGUE:
        return CATALOGUE[str(source)].load()
    check_source(source)
    path = expand_path(source)
    if path.suffix.lower() == ".npz":
        return load_npz(path, missing)
    if path.is_dir():
        contents = {part: (file, read_content(file)) for part, file in find_parts(path).items()}
        dataset = assemble_idx(printable(path.resolve().name), contents)
        for info in CATALOGUE.values():
            if dataset.checksums == info.checksums:  # a copy of a data set in the catalogue
                return replace(dataset, name=info.name, classes=tuple(info.classes))
        return dataset
    fact = f"{path}: {'not' if path.exists() else 'no such file or folder, expected'}"
    raise ElmldaError(f"{fact} a .csv, .tsv, .txt or .npz file, or a folder of four IDX files.")


def fetch_dataset(name: str, progress: bool = False) -> list[str]:
    """Download the missing files of a data set, and return a line about each file's origin."""
    if name not in CATALOGUE:
        raise unknown_name(name)
    info = CATALOGUE[name]
    if not info.mirrors:
        raise ElmldaError(f"{name} is part of elmlda: there is nothing to fetch.")
    try:
        return [_download(info, part, progress) for part in info.files]
    except OSError as error:
        fact = f"{info.where}: cannot be written: {error.strerror or error}."
        raise ElmldaError(f"{fact} Set {FOLDER_VARIABLE} to a folder that can.") from error


def _download(info: DatasetInfo, part: str, progress: bool) -> str:
    """Try the mirrors in turn for a file; pooch keeps the file only if the checksum is right."""
    import pooch
    from requests.exceptions import RequestException

    name, failures = f"{part}-{'idx3' if part.endswith('images') else 'idx1'}-ubyte.gz", []
    pooch.get_logger().setLevel("ERROR")  # the command line prints its own lines
    for mirror in info.mirrors:
        try:
            sha256 = f"sha256:{info.files[part][0]}"
            pooch.retrieve(mirror + name, sha256, name, info.where, progressbar=progress)
            return f"{name}: here, from {mirror}"
        except (RequestException, ValueError) as error:  # ValueError: the checksum differs
            failures.append(f"{mirror}: {' '.join(str(error).split())[:200]}")
    fact = f"{info.name}: {name} could not be fetched ({'; '.join(failures)})."
    raise ElmldaError(f"{fact} Try again later or, if you have the files, copy them to {info.where}.")


CATALOGUE = {name: DatasetInfo(name, **fields) for name, fields in SETS.items()}


def is_mnist(checksums: Mapping[str, str]) -> bool:
    """Tell whether the files with these checksums are MNIST's, whatever their names."""
    return set(checksums.values()) == set(CATALOGUE["mnist"].checksums.values())
