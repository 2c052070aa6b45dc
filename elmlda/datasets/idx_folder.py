"""A data set from four IDX files in one folder: images and labels, to train on and to test on."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from elmlda.datasets.content import require_original
from elmlda.datasets.dataset import Dataset, FileCheck
from elmlda.datasets.idx import read_idx_file
from elmlda.datasets.stored import StoredArray, assemble_split
from elmlda.datasets.words import as_text, format_shape, join_words
from elmlda.errors import ElmldaError

PARTS = ("train-images", "train-labels", "t10k-images", "t10k-labels")
FILE_NAME = re.compile(rf"(?P<stem>(?P<part>{'|'.join(PARTS)})[-.]idx\d+([-.]\w+)?)(\.gz)?")
LOOKED_FOR = "names like train-images-idx3-ubyte or train-images.idx3-ubyte, with or without .gz"


def load_idx_folder(
    folder: Path,
    name: str | None = None,
    expected_sha256: Mapping[str, str] = MappingProxyType({}),
) -> Dataset:
    """Load the data set in a folder's four IDX files, or say what is wrong with them.

    Parameters
    ----------
    folder : holds one file for each of `PARTS`, raw or gzip; where both are there, the raw one is read
    name : the data set's, the folder's unless given
    expected_sha256 : part -> SHA-256 of its content after decompression
    """
    files = {}
    for part, path in find_four(folder).items():
        files[part] = read_idx_file(path)
        _require_sound_part(part, files[part], expected_sha256.get(part))
    return assemble_split(as_text(folder.resolve().name if name is None else name), files)


def verify_idx_folder(
    folder: Path, expected_sha256: Mapping[str, str] = MappingProxyType({})
) -> list[FileCheck]:
    """Check each of a folder's four IDX files, going on after a broken one.

    If all are sound but do not belong together, there is one check more, for the folder.
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
            assemble_split(folder.name, files)
        except ElmldaError as error:
            checks.append(FileCheck("all four", folder, False, str(error)))
    return checks


def find_four(folder: Path) -> dict[str, Path]:
    """The one file that is each part, or an error that names those that are missing."""
    found = find_files(folder)
    if missing := [part for part in PARTS if not found[part]]:
        raise ElmldaError(f"{folder}: no {join_words(missing)}; looked for {LOOKED_FOR}.")
    return {part: choose_file(folder, part, found[part]) for part in PARTS}


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
) -> tuple[FileCheck, StoredArray | None]:
    path, file = folder / part, None
    try:
        path = choose_file(folder, part, paths)
        file = read_idx_file(path)
        _require_sound_part(part, file, expected_sha256)
        ok, message = True, f"{format_shape(file.values.shape)}, {file.values.dtype}"
    except ElmldaError as error:
        ok, message = False, str(error)
    n_bytes, sha256 = (file.n_bytes, file.sha256) if file else (None, None)
    return FileCheck(part, path, ok, message, n_bytes, expected_sha256, sha256), file


def _require_sound_part(part: str, file: StoredArray, expected_sha256: str | None) -> None:
    """Refuse a file for what can be seen from it alone."""
    require_original(file.path, file.sha256, expected_sha256)
    if part.endswith("labels"):
        file.require_labels("iu", "integers")
    else:
        file.require_inputs()
