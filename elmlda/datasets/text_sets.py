"""The embedded sets that are text: small tables, as their donors wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from elmlda.datasets.content import open_content, require_original
from elmlda.datasets.dataset import Dataset, FileCheck, Split, Table
from elmlda.datasets.info import DatasetInfo
from elmlda.errors import ElmldaError


@dataclass(frozen=True)
class TextSet:
    """An embedded set: one file for a table, two for a training and a test part."""

    info: DatasetInfo
    content_sha256: Mapping[str, str]
    """File name -> SHA-256 of its content after decompression; the file may end in .gz."""
    form: str
    """How the text is written, in `PARSERS`. Only content that has the checksum is parsed."""
    input_scale: float = 1.0
    """What inputs are multiplied by, if they are not standardised."""

    def load(self) -> Dataset | Table:
        """Read the files and compare them with their checksums."""
        info, parse = self.info, PARSERS[self.form]
        train, *test = (
            parse(self._read(name).decode("ascii").splitlines()) for name in self.content_sha256
        )
        checksums, names = dict(self.content_sha256), info.feature_names
        if test:
            return Dataset(
                info.name, train, test[0], info.classes, None, 1.0, checksums, names
            ).standardise()
        return Table(
            info.name,
            train,
            info.classes,
            info.is_standardised,
            checksums,
            self.input_scale,
            names,
            info.image_shape,
        )

    def verify(self) -> list[FileCheck]:
        """Check each file, going on after a broken one."""
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


def _parse_pixels(lines: list[str]) -> Split:
    """The same, all of them bytes."""
    samples = _parse_labelled(lines)
    return Split(samples.inputs.astype(np.uint8), samples.labels)


def _parse_below_header(lines: list[str]) -> Split:
    """scikit-learn's form: sizes and class names above the samples."""
    return _parse_labelled(lines[1:])


def _parse_abalone(lines: list[str]) -> Split:
    """Sex as three inputs, one of them 1; rings as three classes: up to 8, 9 and 10, 11 and more."""
    rows = [line.split(",") for line in lines]
    sex = np.array([[float(row[0] == letter) for letter in "MFI"] for row in rows])
    numbers = np.array([[float(value) for value in row[1:]] for row in rows])
    rings = numbers[:, -1]
    classes = np.searchsorted([8, 10], rings).astype(np.int64)
    return Split(np.hstack([sex, numbers[:, :-1]]), classes)


def _parse_satimage(lines: list[str]) -> Split:
    """Numbers with blanks, the class's number last; there is no class 6."""
    values: NDArray[np.float64] = np.loadtxt(lines)
    labels = np.searchsorted([1, 2, 3, 4, 5, 7], values[:, -1]).astype(np.int64)
    return Split(np.ascontiguousarray(values[:, :-1]), labels)


PARSERS = {
    "below a header": _parse_below_header,
    "bytes": _parse_pixels,
    "abalone": _parse_abalone,
    "satimage": _parse_satimage,
}
