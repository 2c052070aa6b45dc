"""The kinds of data sets that elmlda knows by name: embedded, as IDX or text, and fetched on demand."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.datasets.content import open_content, open_input, open_whole, require_original
from elmlda.datasets.dataset import Dataset, FileCheck, Split, Table
from elmlda.datasets.download import ProgressBar, download, explain_storing, find_data_folder
from elmlda.datasets.idx import (
    choose_file,
    find_files,
    find_four,
    load_idx_folder,
    read_idx_file,
    verify_idx_folder,
)
from elmlda.errors import ElmldaError


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


@dataclass(frozen=True)
class EmbeddedIdxSet:
    """Four IDX files that come with the package."""

    info: DatasetInfo
    content_sha256: Mapping[str, str]
    """Part, as in `PARTS` -> SHA-256 of its content after decompression."""

    def load(self) -> Dataset:
        return load_idx_folder(self.info.where, self.info.name, self.content_sha256)

    def verify(self) -> list[FileCheck]:
        return verify_idx_folder(self.info.where, self.content_sha256)


@dataclass(frozen=True)
class TextSet:
    """A small table as its donors wrote it: one file, or two for a training and a test part."""

    info: DatasetInfo
    content_sha256: Mapping[str, str]
    """File name -> SHA-256 of its content after decompression; the file may end in .gz."""
    form: str
    """How the text is written, in `PARSERS`. Only content that has the checksum is parsed."""
    input_scale: float = 1.0
    """What inputs are multiplied by, if they are not standardised."""

    def load(self) -> Dataset | Table:
        info, parse = self.info, PARSERS[self.form]
        texts = (self._read(name).decode("ascii") for name in self.content_sha256)
        train, *test = (parse(text.splitlines()) for text in texts)
        about: dict[str, Any] = {
            "classes": info.classes,
            "checksums": dict(self.content_sha256),
            "input_scale": self.input_scale,
            "feature_names": info.feature_names,
            "image_shape": info.image_shape,
            "is_standardised": info.is_standardised,
        }
        if test:
            return Dataset(info.name, train, test[0], **about).standardise()
        return Table(info.name, train, **about)

    def verify(self) -> list[FileCheck]:
        return [self._check(name) for name in self.content_sha256]

    def _read(self, name: str) -> bytes:
        path = self._path(name)
        with open_content(path, "a file of the data set") as content:
            text = content.read_all()
        require_original(path, content.sha256, self.content_sha256[name])
        return text

    def _check(self, name: str) -> FileCheck:
        path, expected = self._path(name), self.content_sha256[name]
        try:
            text = self._read(name)
        except ElmldaError as error:
            return FileCheck(name, path, False, str(error), expected_sha256=expected)
        message = f"{len(text.splitlines()):,} lines"
        return FileCheck(name, path, True, message, len(text), expected, expected)

    def _path(self, name: str) -> Path:
        raw = self.info.where / name
        return raw if raw.exists() else raw.with_name(f"{name}.gz")


def _parse_labelled(lines: list[str]) -> Split:
    """Numbers with commas, the class index last."""
    values = np.loadtxt(lines, delimiter=",")
    return Split(np.ascontiguousarray(values[:, :-1]), values[:, -1].astype(np.int64))


def _parse_below_header(lines: list[str]) -> Split:
    """scikit-learn's form: sizes and class names above the samples."""
    return _parse_labelled(lines[1:])


def _parse_bytes(lines: list[str]) -> Split:
    samples = _parse_labelled(lines)
    return Split(samples.inputs.astype(np.uint8), samples.labels)


def _parse_abalone(lines: list[str]) -> Split:
    """Sex as three inputs, one of them 1; rings as three classes: up to 8, 9 and 10, 11 and more."""
    sex = np.array([[line[0] == letter for letter in "MFI"] for line in lines], np.float64)
    numbers = np.loadtxt([line[2:] for line in lines], delimiter=",")
    classes = np.searchsorted([8, 10], numbers[:, -1]).astype(np.int64)
    return Split(np.hstack([sex, numbers[:, :-1]]), classes)


def _parse_satimage(lines: list[str]) -> Split:
    """Numbers with blanks, the class's number last; there is no class 6."""
    values: NDArray[np.float64] = np.loadtxt(lines)
    labels = np.searchsorted([1, 2, 3, 4, 5, 7], values[:, -1]).astype(np.int64)
    return Split(np.ascontiguousarray(values[:, :-1]), labels)


PARSERS = {
    "below a header": _parse_below_header,
    "bytes": _parse_bytes,
    "abalone": _parse_abalone,
    "satimage": _parse_satimage,
}


@dataclass(frozen=True)
class RemoteSet:
    """Four IDX files that `fetch` brings here; nothing else ever downloads them."""

    known: DatasetInfo
    mirrors: tuple[str, ...]
    packed_sha256: Mapping[str, str]
    """Part, as in `PARTS` -> SHA-256 of the gzip file that mirrors send."""
    content_sha256: Mapping[str, str]
    """The same of its content, which a copy with another gzip header has, too; where it is known."""

    @property
    def folder(self) -> Path:
        """Where its files are, or will be."""
        return find_data_folder() / self.known.name

    @property
    def info(self) -> DatasetInfo:
        return replace(self.known, where=self.folder, is_here=self._is_here())

    def load(self) -> Dataset:
        self._require_here()
        for part, path in find_four(self.folder).items():
            if part not in self.content_sha256:
                check = self._check_packed(FileCheck(part, path, True, ""))
                if not check.ok:
                    raise ElmldaError(check.message)
        dataset = load_idx_folder(self.folder, self.known.name, self.content_sha256)
        return replace(dataset, classes=self.known.classes)

    def verify(self) -> list[FileCheck]:
        self._require_here()
        checks = verify_idx_folder(self.folder, self.content_sha256)
        return [
            self._check_packed(check) if check.ok and not check.expected_sha256 else check
            for check in checks
        ]

    def fetch(self, source: Path | None = None, progress: ProgressBar | None = None) -> list[str]:
        """Bring the files here, those that are not here in their original form.

        Parameters
        ----------
        source : a folder that has them, raw or gzip; without it they come from a mirror
        progress : makes the bar of each download

        Returns
        -------
        list of str
            What was done, a line for each file. If no mirror gives a file, the folder has others, or
            they can't be stored, what was here before is untouched, and what arrived whole stays.
        """
        with explain_storing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        if source is not None:
            return self._copy_from(source)
        lines = []
        for part, sha256 in self.packed_sha256.items():
            name = name_file(part)
            if self._has(part):
                lines.append(f"{name}: already here")
            else:
                mirror = download(name, sha256, self.mirrors, self.folder, progress)
                lines.append(f"{name}: fetched from {mirror}")
        return lines

    def _copy_from(self, source: Path) -> list[str]:
        paths = find_four(source)
        for part, path in paths.items():  # all of them before any is copied
            found, expected = self._compare(part, path)
            if found != expected:
                raise ElmldaError(
                    f"{path}: SHA-256 {found}, expected {expected}: not {self.known.name}'s {part}."
                )
        lines = []
        for part, path in paths.items():
            packed = self.folder / name_file(part)
            raw = packed.with_suffix("")
            target = packed if path.suffix == ".gz" else raw
            with explain_storing(self.folder):
                with path.open("rb") as file, open_whole(target) as out:
                    shutil.copyfileobj(file, out)
                if target == packed:  # a raw file beside it would be read instead
                    raw.unlink(missing_ok=True)
            lines.append(f"{target.name}: copied from {path}")
        return lines

    def _compare(self, part: str, path: Path) -> tuple[str, str]:
        """SHA-256 found and expected: of a part's content or, if that is not known, of its file."""
        if expected := self.content_sha256.get(part):
            return read_idx_file(path).sha256, expected
        return _hash_file(path), self.packed_sha256[part]

    def _has(self, part: str) -> bool:
        """Whether a part is here and the original."""
        try:
            path = choose_file(self.folder, part, find_files(self.folder)[part])
            found, expected = self._compare(part, path)
        except ElmldaError:
            return False
        return found == expected

    def _is_here(self) -> bool:
        try:
            return all(find_files(self.folder).values())
        except ElmldaError:
            return False

    def _require_here(self) -> None:
        if not self._is_here():
            raise ElmldaError(
                f"{self.known.name} is not here yet (looked in {self.folder}). "
                f"Fetch it first: elmlda data fetch {self.known.name}"
            )

    def _check_packed(self, check: FileCheck) -> FileCheck:
        """Check a file of which only the checksum before decompression is known."""
        expected, found = self.packed_sha256[check.name], _hash_file(check.path)
        check = replace(check, expected_sha256=expected, found_sha256=found)
        if found == expected:
            return check
        message = (
            f"{check.path}: SHA-256 {found}, expected {expected}: the file is not the original. "
            f"Remove it and run elmlda data fetch {self.known.name}"
        )
        return replace(check, ok=False, message=message)


def name_file(part: str) -> str:
    """The name that mirrors have for a part: MNIST's."""
    return f"{part}-{'idx3' if part.endswith('images') else 'idx1'}-ubyte.gz"


def _hash_file(path: Path) -> str:
    with open_input(path, "an IDX file") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


KnownSet = EmbeddedIdxSet | TextSet | RemoteSet
