"""The data sets that elmlda knows by name, how they are fetched, and how any data set is loaded."""

from __future__ import annotations

import difflib
import io
import os
import shutil
import tomllib
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from elmlda.datasets.arrays import MISSING_NOTES, build_dataset, load_npz, load_pair
from elmlda.datasets.files import hash_content, read_content
from elmlda.datasets.idx import assemble_idx, find_parts
from elmlda.datasets.split import Dataset
from elmlda.datasets.tables import TABLE_SUFFIXES, Table, load_table, name_inputs
from elmlda.errors import ElmldaError
from elmlda.text import as_text

HERE = Path(__file__).parent
FOLDER_VARIABLE = "ELMLDA_DATA"
TIMEOUT_SECONDS = (10, 30)
"""To connect to a mirror, and between two parts of its answer."""
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
    n_train: int
    n_test: int
    n_inputs: int
    classes: tuple[str, ...]
    files: Mapping[str, tuple[str, ...]]
    image_shape: tuple[int, int] | None = None
    columns: tuple[dict[str, Any], ...] = ()
    has_own_split: bool = True
    is_standardised: bool = False
    largest: int = 255
    mirrors: tuple[str, ...] = ()
    form: Mapping[str, Any] | None = None

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

    def find_files(self) -> dict[str, Path]:
        """The path of each file; an error says that they are to be fetched."""
        if self.form is not None:
            return {n: next(self.where.glob(f"{n}*"), self.where / n) for n in self.files}
        try:
            return find_parts(self.where)
        except ElmldaError as error:
            fact = f"{self.name} is not here yet (looked in {self.where})."
            raise ElmldaError(f"{fact} Fetch it first: elmlda data fetch {self.name}") from error

    def read(self, name: str, path: Path) -> bytes:
        """The content of a file, if that or the file has the checksum of the original."""
        content, stored = read_content(path), read_content(path, unpack=False)
        if not {hash_content(content), hash_content(stored)} & {*self.files[name]}:
            fact = f"{path}: SHA-256 {hash_content(content)}, expected {self.files[name][-1]}"
            raise ElmldaError(f"{fact}: not the original of {self.name}.")
        return content

    def load(self) -> Dataset:
        contents = {name: (path, self.read(name, path)) for name, path in self.find_files().items()}
        if self.form is None:
            return replace(assemble_idx(self.name, contents), classes=self.classes)
        form = {"header": None, "dtype": object, "na_filter": False, **self.form}
        bounds, arrays = form.pop("bounds", None), dict[str, Any]()
        for name, (_, content) in contents.items():
            cells = pd.read_csv(io.BytesIO(content), **form)
            table = Table(name, [str(i) for i in cells], cells)
            inputs = [table.encode(i, column)[1] for i, column in enumerate(self.columns)]
            labels = cells.iloc[:, -1].to_numpy(np.float64)
            arrays[name] = np.hstack(inputs).astype(np.float64 if self.is_standardised else np.uint8)
            arrays[f"{name}, classes"] = labels if bounds is None else np.searchsorted(bounds, labels)
        data = build_dataset(self.name, arrays, {name: sums[-1] for name, sums in self.files.items()})
        scale = 1.0 if self.is_standardised else 1 / self.largest
        names, columns = name_inputs(self.columns), list(self.columns)
        data = replace(data, classes=self.classes, input_scale=scale, image_shape=self.image_shape)
        return data if self.image_shape else replace(data, feature_names=names, columns=columns)


class FileCheck(NamedTuple):
    """Whether a file of a data set is the original, and what it holds or what is wrong with it."""

    name: str
    path: Path
    ok: bool
    message: str


def load_dataset(
    source: Source = "mnist", *, label: object = None, drop: Any = (), missing: str | None = None
) -> Dataset:
    """Load a data set; `Dataset.split` gives one without a test part its fixed one.

    Parameters
    ----------
    source : a name of the catalogue; a .csv, .tsv or .npz file, an .npy file of a table, or a folder of
        four IDX files named as MNIST's are; a DataFrame; or inputs and labels, (X, y)
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
    path = None if isinstance(source, pd.DataFrame | tuple) else _find_path(source)
    if isinstance(source, pd.DataFrame):
        return load_table(source, label, drop, missing)
    if path and path.name.lower().endswith((*TABLE_SUFFIXES, ".npy")):
        return load_table(path, label, drop, missing)
    if label is not None or np.size(drop):
        fact = f"{source} is no table with columns to name."
        raise ElmldaError(fact, "Leave out {}.", **{"drop" if label is None else "label": None})
    if isinstance(source, tuple):
        return load_pair(*source, missing)
    if path is None:
        return _find_known(source).load()
    if path.suffix == ".npz":
        return load_npz(path, missing)
    contents = {part: (file, read_content(file)) for part, file in find_parts(path).items()}
    dataset = assemble_idx(as_text(path.resolve().name), contents)
    for known in CATALOGUE.values():  # a copy of one of the catalogue's
        if dataset.checksums == {name: sums[-1] for name, sums in known.files.items()}:
            return replace(dataset, name=known.name, classes=known.classes)
    return dataset


def list_datasets() -> list[DatasetInfo]:
    """Describe every data set of the catalogue, without loading any."""
    return list(CATALOGUE.values())


def find_info(source: Source) -> DatasetInfo | None:
    """Describe a data set of the catalogue; None for the user's own."""
    is_own = isinstance(source, pd.DataFrame | tuple) or _find_path(source)
    return None if is_own else _find_known(source)


def verify_dataset(name: str) -> list[FileCheck]:
    """Compare each file of a data set of the catalogue with its checksum."""
    known, checks = _find_known(name), []
    for file, path in known.find_files().items():
        try:
            checks.append(FileCheck(file, path, True, f"{len(known.read(file, path)):,} bytes"))
        except ElmldaError as error:
            checks.append(FileCheck(file, path, False, str(error)))
    return checks


def fetch_dataset(
    name: str, source: PathLike | None = None, progress: Callable[[str], Any] | None = None
) -> list[str]:
    """Bring the files of a data set here, from a mirror or from a folder that has them.

    `progress` makes the bar of each download, such as tqdm's; not false. Returns what was done.
    """
    known = _find_known(name)
    if not known.mirrors:
        raise ElmldaError(f"{name} is part of elmlda: there is nothing to fetch.")
    try:
        known.where.mkdir(parents=True, exist_ok=True)
        if source is None:
            return [_download(known, part, progress) for part in known.files]
        paths = find_parts(Path(source))
        for part, path in paths.items():  # all of them before any is copied
            known.read(part, path)
        for old in find_parts(known.where).values() if known.is_here else ():
            old.unlink()
        return [
            f"{Path(shutil.copy(path, known.where)).name}: copied from {path}"
            for path in paths.values()
        ]
    except OSError as error:
        fact = f"{known.where}: cannot be written: {error.strerror or error}."
        raise ElmldaError(f"{fact} Set {FOLDER_VARIABLE} to a folder that can.") from error


def _download(known: DatasetInfo, part: str, progress: Callable[[str], Any] | None) -> str:
    """Try the mirrors in turn for a file; pooch keeps it only if it has the checksum."""
    import pooch
    from requests.exceptions import RequestException

    name, failures = f"{part}-{'idx3' if part.endswith('images') else 'idx1'}-ubyte.gz", []
    pooch.get_logger().setLevel("ERROR")  # the command line says what was done
    registry = {name: f"sha256:{known.files[part][0]}"}
    for mirror in known.mirrors:
        with closing(progress(name)) if progress else nullcontext(False) as bar:
            downloader = pooch.HTTPDownloader(progressbar=bar, timeout=TIMEOUT_SECONDS)
            try:
                pooch.create(known.where, mirror, registry=registry).fetch(name, downloader=downloader)
                return f"{name}: here, from {mirror}"
            except (RequestException, ValueError) as error:  # ValueError: another checksum
                failures.append(f"{mirror}: {' '.join(str(error).split())[:200]}")
    fact = f"{known.name}: {name} could not be fetched ({'; '.join(failures)})."
    advice = "Try again later or, if you have the files, name their folder with {from_}."
    raise ElmldaError(fact, advice, from_=None)


def _find_path(source: PathLike) -> Path | None:
    """The user's own file or folder that is meant; None if it is the catalogue's."""
    path = Path(source).expanduser()
    if str(source) in ("", *CATALOGUE) or not (path.suffix or path.exists() or os.sep in str(source)):
        return None
    if path.is_dir() or path.name.lower().endswith((*TABLE_SUFFIXES, ".npz", ".npy")):
        return path
    fact = f"{path}: {'not' if path.exists() else 'no such file or folder, expected'}"
    raise ElmldaError(f"{fact} a .csv, .tsv, .npz or .npy file, or a folder of four IDX files.")


def _find_known(name: object) -> DatasetInfo:
    if str(name) in CATALOGUE:
        return CATALOGUE[str(name)]
    close = difflib.get_close_matches(str(name).lower(), CATALOGUE, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    raise ElmldaError(f"unknown data set {str(name)!r}. {hint}Known: {', '.join(CATALOGUE)}.")


def _make_info(name: str, about: dict[str, Any]) -> DatasetInfo:
    about = {key: tuple(value) if isinstance(value, list) else value for key, value in about.items()}
    sums = about.pop("files").items()
    files = {file: (each,) if isinstance(each, str) else tuple(each) for file, each in sums}
    pixels = [f"pixel {i}" for i in range(about["n_inputs"])]
    columns = (
        {"name": each} if isinstance(each, str) else each for each in about.pop("columns", pixels)
    )
    return DatasetInfo(name=name, files=files, columns=tuple(columns), **about)


CATALOGUE = {
    name: _make_info(name, about)
    for name, about in tomllib.loads((HERE / "sets.toml").read_text()).items()
}
MNIST_SHA256 = {part: sums[-1] for part, sums in CATALOGUE["mnist"].files.items()}
