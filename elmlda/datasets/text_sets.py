"""The embedded sets that are text: small tables, as their donors wrote them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from elmlda.datasets.content import open_content
from elmlda.datasets.dataset import Dataset, FileCheck, Split, Table
from elmlda.datasets.info import DatasetInfo
from elmlda.errors import ElmldaError

HERE = Path(__file__).parent
UCI_LICENCE = "CC BY 4.0"


@dataclass(frozen=True)
class TextSet:
    """An embedded set: one file for a table, two for a training and a test part.

    Attributes
    ----------
    info : DatasetInfo
    sha256 : mapping
        File name -> SHA-256 of its content after decompression; the file may end in .gz.
    parse : callable
        Text lines -> inputs (n_samples × n_inputs) and class indices. It meets only content that
        has the checksum, so it need not doubt it.
    """

    info: DatasetInfo
    sha256: Mapping[str, str]
    parse: Callable[[list[str]], Split]

    def load(self) -> Dataset | Table:
        """Read the files and compare them with their checksums."""
        samples = [self.parse(self._read(name).decode("ascii").splitlines()) for name in self.sha256]
        info = self.info
        if info.has_own_split:
            train, test = samples
            checksums, names = dict(self.sha256), info.feature_names
            return Dataset(
                info.name, train, test, info.classes, None, 1.0, checksums, names
            ).standardise()
        return Table(
            info.name,
            samples[0],
            info.classes,
            is_standardised=True,
            checksums=dict(self.sha256),
            feature_names=info.feature_names,
            image_shape=info.image_shape,
        )

    def verify(self) -> list[FileCheck]:
        """Check each file, going on after a broken one."""
        return [self._check(name) for name in self.sha256]

    def _read(self, name: str) -> bytes:
        path = self._path(name)
        with open_content(path, "a file of the data set") as content:
            text = content.take_all(None)
        if content.sha256 != self.sha256[name]:
            raise ElmldaError(
                f"{path}: SHA-256 {content.sha256}, expected {self.sha256[name]}: "
                "the content is not the original."
            )
        return text

    def _check(self, name: str) -> FileCheck:
        path, expected = self._path(name), self.sha256[name]
        try:
            text = self._read(name)
        except ElmldaError as error:
            return FileCheck(name, path, None, expected, None, False, str(error))
        message = f"{len(text.splitlines()):,} lines"
        return FileCheck(name, path, len(text), expected, expected, True, message)

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


IRIS = TextSet(
    DatasetInfo(
        name="iris",
        title="Fisher's iris plants",
        origin="Ronald A. Fisher and Edgar Anderson",
        licence=UCI_LICENCE,
        citation='R. A. Fisher, "The use of multiple measurements in taxonomic problems", Annals of '
        "Eugenics 7 (2), 1936, pages 179-188",
        n_train=100,
        n_test=50,
        n_inputs=4,
        image_shape=None,
        classes=("setosa", "versicolor", "virginica"),
        where=HERE / "iris",
        feature_names=("sepal length", "sepal width", "petal length", "petal width"),
        has_own_split=False,
        is_standardised=True,
    ),
    {"iris.csv": "f13ffa8fdd56fd8e6c8d16d4081a3fbd3114bcd0aae4256c43205169cd9d1449"},
    _parse_below_header,
)

WINE = TextSet(
    DatasetInfo(
        name="wine",
        title="Wines of three cultivars from one region of Italy",
        origin="Michele Forina and others; Stefan Aeberhard",
        licence=UCI_LICENCE,
        citation='S. Aeberhard and M. Forina, "Wine", UCI Machine Learning Repository, 1992, '
        "doi:10.24432/C5PC7J",
        n_train=118,
        n_test=60,
        n_inputs=13,
        image_shape=None,
        classes=("class_0", "class_1", "class_2"),
        where=HERE / "wine",
        feature_names=(
            "alcohol",
            "malic acid",
            "ash",
            "alcalinity of ash",
            "magnesium",
            "total phenols",
            "flavanoids",
            "nonflavanoid phenols",
            "proanthocyanins",
            "colour intensity",
            "hue",
            "OD280/OD315 of diluted wines",
            "proline",
        ),
        has_own_split=False,
        is_standardised=True,
    ),
    {"wine_data.csv": "10e8a802908b34f86e5da8ce962f3c806694bc98450a18f61851af59f324bede"},
    _parse_below_header,
)

BREAST_CANCER = TextSet(
    DatasetInfo(
        name="breast-cancer",
        title="Breast cancer Wisconsin, diagnostic",
        origin="William H. Wolberg, W. Nick Street and Olvi L. Mangasarian",
        licence=UCI_LICENCE,
        citation="W. Wolberg, O. Mangasarian, N. Street and W. Street, "
        '"Breast Cancer Wisconsin (Diagnostic)", UCI Machine Learning Repository, 1993, '
        "doi:10.24432/C5DW2B",
        n_train=379,
        n_test=190,
        n_inputs=30,
        image_shape=None,
        classes=("malignant", "benign"),
        where=HERE / "breast-cancer",
        feature_names=tuple(
            f"{statistic} {quantity}"
            for statistic in ("mean", "standard error of", "worst")
            for quantity in (
                "radius",
                "texture",
                "perimeter",
                "area",
                "smoothness",
                "compactness",
                "concavity",
                "concave points",
                "symmetry",
                "fractal dimension",
            )
        ),
        has_own_split=False,
        is_standardised=True,
    ),
    {"breast_cancer.csv": "fed3eb72d0575ef6192293f5093c6e801b1476b577d0386bf4455504522172ed"},
    _parse_below_header,
)

DIGITS = TextSet(
    DatasetInfo(
        name="digits",
        title="Handwritten digits of 8 × 8, the test part of optdigits",
        origin="Ethem Alpaydin and Cenk Kaynak",
        licence=UCI_LICENCE,
        citation='E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine '
        "Learning Repository, 1998, doi:10.24432/C50P49",
        n_train=1198,
        n_test=599,
        n_inputs=64,
        image_shape=(8, 8),
        classes=tuple("0123456789"),
        where=HERE / "digits",
        has_own_split=False,
        is_standardised=True,
    ),
    {"digits.csv": "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8"},
    _parse_labelled,
)

ABALONE = TextSet(
    DatasetInfo(
        name="abalone",
        title="Abalones' age from their measures, in three classes of rings",
        origin="Warwick J. Nash, Tracy L. Sellers, Simon R. Talbot, Andrew J. Cawthorn and Wes B. Ford",
        licence=UCI_LICENCE,
        citation="W. Nash, T. Sellers, S. Talbot, A. Cawthorn and W. Ford, "
        '"Abalone", UCI Machine Learning Repository, 1994, doi:10.24432/C55C7W',
        n_train=2784,
        n_test=1393,
        n_inputs=10,
        image_shape=None,
        classes=("1-8 rings", "9-10 rings", "11+ rings"),
        where=HERE / "abalone",
        feature_names=(
            "sex=M",
            "sex=F",
            "sex=I",
            "length",
            "diameter",
            "height",
            "whole weight",
            "shucked weight",
            "viscera weight",
            "shell weight",
        ),
        has_own_split=False,
        is_standardised=True,
    ),
    {"abalone.data.txt": "de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f"},
    _parse_abalone,
)

SATIMAGE = TextSet(
    DatasetInfo(
        name="satimage",
        title="Landsat's view of soil: 3 × 3 pixels in four spectral bands",
        origin="Ashwin Srinivasan; from NASA's Landsat data, University of New South Wales",
        licence=UCI_LICENCE,
        citation='A. Srinivasan, "Statlog (Landsat Satellite)", UCI Machine Learning Repository, 1993, '
        "doi:10.24432/C55887",
        n_train=4435,
        n_test=2000,
        n_inputs=36,
        image_shape=None,
        classes=(
            "red soil",
            "cotton crop",
            "grey soil",
            "damp grey soil",
            "soil with vegetation stubble",
            "very damp grey soil",
        ),
        where=HERE / "satimage",
        feature_names=tuple(
            f"row {row} column {column} band {band}"
            for row in (1, 2, 3)
            for column in (1, 2, 3)
            for band in (1, 2, 3, 4)
        ),
        is_standardised=True,
    ),
    {
        "sat.trn.txt": "e896dc88a960fa2404160fc4c3cb3dc53fcf4afd80ba920bf2d261bd42d12613",
        "sat.tst.txt": "4b9167b8a92baafafed7c8809aef86d0683a5e685c19d98d119fa6974f0f2479",
    },
    _parse_satimage,
)

TEXT_SETS = (IRIS, ABALONE, WINE, SATIMAGE, BREAST_CANCER, DIGITS)
