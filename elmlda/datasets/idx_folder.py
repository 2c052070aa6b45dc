"""A data set from four IDX files in one folder: images and labels, to train on and to test on."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from elmlda.datasets.dataset import BYTE_SCALE, Dataset, FileCheck, Split, join_words
from elmlda.datasets.idx import IdxFile, format_shape, read_idx_file
from elmlda.errors import ElmldaError

PARTS = ("train-images", "train-labels", "t10k-images", "t10k-labels")
FILE_NAME = re.compile(rf"(?P<stem>(?P<part>{'|'.join(PARTS)})[-.]idx\d+([-.]\w+)?)(\.gz)?")
LOOKED_FOR = "names like train-images-idx3-ubyte or train-images.idx3-ubyte, with or without .gz"


def load_idx_folder(
    folder: Path,
    name: str | None = None,
    expected_sha256: Mapping[str, str] = MappingProxyType({}),
) -> Dataset:
    """Load the data set in a folder's four IDX files.

    Parameters
    ----------
    folder : Path
        Holds one file for each of `PARTS`, raw or gzip; where both are there, the raw one is read.
    name : str, optional
        The data set's name, the folder's unless given.
    expected_sha256 : mapping, optional
        Part -> SHA-256 of its content after decompression.

    Raises
    ------
    ElmldaError
        If a file is missing, ambiguous, broken or not the expected one, or the four do not belong
        together.
    """
    found = find_files(folder)
    missing = [part for part in PARTS if not found[part]]
    if missing:
        raise ElmldaError(f"{folder}: no {join_words(missing)}; looked for {LOOKED_FOR}.")
    paths = {part: choose_file(folder, part, found[part]) for part in PARTS}
    files = {}
    for part, path in paths.items():
        files[part] = read_idx_file(path)
        _require_sound_part(part, files[part], expected_sha256.get(part))
    return _assemble(folder.resolve().name if name is None else name, files)


def verify_idx_folder(
    folder: Path, expected_sha256: Mapping[str, str] = MappingProxyType({})
) -> list[FileCheck]:
    """Check each of a folder's four IDX files, going on after a broken one.

    Returns
    -------
    list of FileCheck
        One for each of `PARTS`. If all are sound but do not belong together, one more, for the
        folder.
    """
    found = find_files(folder)
    checks = []
    files = {}
    for part in PARTS:
        check, file = _verify_part(folder, part, found[part], expected_sha256.get(part))
        checks.append(check)
        if file and check.ok:
            files[part] = file
    if len(files) == len(PARTS):
        try:
            _assemble(folder.name, files)
        except ElmldaError as error:
            checks.append(FileCheck("all four", folder, None, None, None, False, str(error)))
    return checks


def find_files(folder: Path) -> dict[str, list[Path]]:
    """Find the files that could be each part."""
    found: dict[str, dict[str, Path]] = {part: {} for part in PARTS}
    try:
        for path in sorted(folder.iterdir()):
            match = FILE_NAME.fullmatch(path.name)
            # Some archives unpack each file into a folder of its own name: not a candidate.
            if match and not path.is_dir():
                # In sorted order a raw file comes before its own .gz, and so wins.
                found[match["part"]].setdefault(match["stem"], path)
    except (OSError, ValueError) as error:  # ValueError: characters that no path can have
        reason = getattr(error, "strerror", None) or error
        raise ElmldaError(f"{folder}: {reason}, expected a folder of four IDX files.") from error
    return {part: list(paths.values()) for part, paths in found.items()}


def choose_file(folder: Path, part: str, paths: list[Path]) -> Path:
    """The one file that could be a part, or an error."""
    if not paths:
        raise ElmldaError(f"{folder}: no {part}; looked for {LOOKED_FOR}.")
    if len(paths) > 1:
        names = join_words(path.name for path in paths)
        raise ElmldaError(f"{folder}: {names} could each be {part}, expected only one of them.")
    return paths[0]


def _verify_part(
    folder: Path, part: str, paths: list[Path], expected_sha256: str | None
) -> tuple[FileCheck, IdxFile | None]:
    path, file = folder / part, None
    try:
        path = choose_file(folder, part, paths)
        file = read_idx_file(path)
        _require_sound_part(part, file, expected_sha256)
        ok, message = True, f"{format_shape(file.values.shape)}, {file.values.dtype}"
    except ElmldaError as error:
        ok, message = False, str(error)
    n_bytes, sha256 = (file.n_bytes, file.sha256) if file else (None, None)
    return FileCheck(part, path, n_bytes, expected_sha256, sha256, ok, message), file


def _require_sound_part(part: str, file: IdxFile, expected_sha256: str | None) -> None:
    """Refuse a file for what can be seen from it alone."""
    if expected_sha256 not in (None, file.sha256):
        raise ElmldaError(
            f"{file.path}: SHA-256 {file.sha256}, expected {expected_sha256}: "
            "the content is not the original."
        )
    shape = format_shape(file.values.shape)
    if file.values.size == 0:
        raise ElmldaError(f"{file.path}: {shape} values: no samples, expected at least one.")
    if part.endswith("labels"):
        if file.values.ndim != 1 or file.values.dtype.kind not in "iu":
            raise ElmldaError(
                f"{file.path}: {shape} values of {file.values.dtype}, "
                "expected labels: one dimension of integers."
            )
    elif file.values.dtype.kind == "f":
        _require_finite(file)


def _require_finite(file: IdxFile) -> None:
    n_values = file.values.size
    n_bad = n_values - np.count_nonzero(np.isfinite(file.values))
    if n_bad:
        raise ElmldaError(
            f"{file.path}: {n_bad:,} of {n_values:,} values are NaN or infinite, "
            "expected finite numbers."
        )


def _assemble(name: str, files: Mapping[str, IdxFile]) -> Dataset:
    """Make a data set of four sound files, or say why they do not belong together."""
    train_images, train_labels, test_images, test_labels = (files[part] for part in PARTS)
    _require_same_length(train_images, train_labels)
    _require_same_length(test_images, test_labels)
    _require_same_inputs(train_images, test_images)
    labels = np.unique(train_labels.values)
    if len(labels) < 2:
        raise ElmldaError(f"{train_labels.path}: all labels are {labels[0]}, expected two or more.")
    image_shape = train_images.values.shape[1:]
    is_byte = train_images.values.dtype == np.uint8
    return Dataset(
        name=name,
        train=_make_split(train_images, train_labels, labels),
        test=_make_split(test_images, test_labels, labels),
        classes=tuple(map(str, labels)),
        image_shape=(image_shape[0], image_shape[1]) if len(image_shape) == 2 else None,
        input_scale=BYTE_SCALE if is_byte else 1.0,
        checksums={part: files[part].sha256 for part in PARTS},
    )


def _require_same_length(images: IdxFile, labels: IdxFile) -> None:
    n_images, n_labels = len(images.values), len(labels.values)
    if n_images != n_labels:
        raise ElmldaError(
            f"{images.path} has {n_images:,} samples, {labels.path} has {n_labels:,} labels, "
            "expected as many of each."
        )


def _require_same_inputs(train: IdxFile, test: IdxFile) -> None:
    kinds = [
        f"{format_shape(file.values.shape[1:]) or '1'} values of {file.values.dtype}"
        for file in (train, test)
    ]
    if train.values.shape[1:] != test.values.shape[1:] or train.values.dtype != test.values.dtype:
        raise ElmldaError(
            f"{test.path}: each sample is {kinds[1]}, expected {kinds[0]} as in {train.path}."
        )


def _make_split(images: IdxFile, labels: IdxFile, known_labels: NDArray[np.integer]) -> Split:
    unknown = np.setdiff1d(labels.values, known_labels)
    if unknown.size:
        raise ElmldaError(
            f"{labels.path}: no training sample has the label {join_words(unknown, 'or')}, "
            f"expected {join_words(known_labels, 'or')}."
        )
    inputs = images.values.reshape(len(images.values), -1)
    if inputs.dtype != np.uint8:
        # The smallest of float32 and float64 that holds every value exactly.
        inputs = inputs.astype(np.result_type(inputs, np.float32), copy=False)
    return Split(inputs, np.searchsorted(known_labels, labels.values).astype(np.int64, copy=False))
