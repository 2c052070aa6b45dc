"""Sets that are fetched on demand: from mirrors, or from a folder that the user has them in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from elmlda.datasets.content import open_input
from elmlda.datasets.dataset import Dataset, FileCheck
from elmlda.datasets.download import (
    ProgressBar,
    RemoteFile,
    copy_whole,
    download,
    explain_storing,
    find_data_folder,
)
from elmlda.datasets.idx import read_idx_file
from elmlda.datasets.idx_folder import (
    PARTS,
    choose_file,
    find_files,
    load_idx_folder,
    verify_idx_folder,
)
from elmlda.datasets.info import DatasetInfo
from elmlda.errors import ElmldaError


@dataclass(frozen=True)
class RemoteSet:
    """Four IDX files that `fetch` brings here; nothing else ever downloads them."""

    known: DatasetInfo
    mirrors: tuple[str, ...]
    files: Mapping[str, RemoteFile]
    """Part, as in `PARTS` -> file."""

    @property
    def folder(self) -> Path:
        """Where its files are, or will be."""
        return find_data_folder() / self.known.name

    @property
    def info(self) -> DatasetInfo:
        """What is known of it, and whether it is here."""
        return replace(self.known, where=self.folder, is_here=self._is_here())

    @property
    def content_sha256(self) -> dict[str, str]:
        """Part -> SHA-256 of its content after decompression, where that is known."""
        return {part: file.content_sha256 for part, file in self.files.items() if file.content_sha256}

    def load(self) -> Dataset:
        """Read what was fetched and compare it with the checksums."""
        self._require_here()
        for check in map(self._check_file, self._parts_to_hash()):
            if not check.ok:
                raise ElmldaError(check.message)
        dataset = load_idx_folder(self.folder, self.known.name, self.content_sha256)
        return replace(dataset, classes=self.known.classes)

    def verify(self) -> list[FileCheck]:
        """Check each file that was fetched, going on after a broken one."""
        self._require_here()
        checks = verify_idx_folder(self.folder, self.content_sha256)
        by_file = {part: self._check_file(part) for part in self._parts_to_hash()}
        return [self._join(check, by_file.get(check.name)) for check in checks]

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
        for part, file in self.files.items():
            if self._has(part):
                lines.append(f"{file.name}: already here")
                continue
            mirror = download(self.known.name, file, self.mirrors, self.folder, progress)
            lines.append(f"{file.name}: fetched from {mirror}")
        return lines

    def _copy_from(self, source: Path) -> list[str]:
        found = find_files(source)
        paths = {part: choose_file(source, part, found[part]) for part in PARTS}
        for part, path in paths.items():  # all of them before any is copied
            self._require_original(part, path)
        lines = []
        for part, path in paths.items():
            is_gzip = path.suffix == ".gz"
            name = self.files[part].name if is_gzip else self.files[part].name.removesuffix(".gz")
            with explain_storing(self.folder):
                copy_whole(path, self.folder / name)
                if is_gzip:  # a raw file beside it would be read instead
                    (self.folder / name.removesuffix(".gz")).unlink(missing_ok=True)
            lines.append(f"{name}: copied from {path}")
        return lines

    def _require_original(self, part: str, path: Path) -> None:
        file = self.files[part]
        is_known = file.content_sha256 is not None
        found = read_idx_file(path).sha256 if is_known else _hash_file(path)
        expected = file.content_sha256 or file.sha256
        if found != expected:
            raise ElmldaError(
                f"{path}: SHA-256 {found}, expected {expected}: not {self.known.name}'s {part}."
            )

    def _path(self, part: str) -> Path:
        return choose_file(self.folder, part, find_files(self.folder)[part])

    def _has(self, part: str) -> bool:
        """Whether a part is here and the original."""
        try:
            self._require_original(part, self._path(part))
        except ElmldaError:
            return False
        return True

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

    def _parts_to_hash(self) -> list[str]:
        """Parts of which only the compressed file's checksum is known."""
        return [part for part, file in self.files.items() if not file.content_sha256]

    def _check_file(self, part: str) -> FileCheck:
        path, expected = self._path(part), self.files[part].sha256
        found = _hash_file(path)
        message = (
            f"{path}: SHA-256 {found}, expected {expected}: the file is not the original. "
            f"Remove it and run elmlda data fetch {self.known.name}"
        )
        return FileCheck(part, path, None, expected, found, found == expected, message)

    @staticmethod
    def _join(check: FileCheck, by_file: FileCheck | None) -> FileCheck:
        if by_file is None or not check.ok:
            return check
        message = check.message if by_file.ok else by_file.message
        return replace(by_file, n_bytes=check.n_bytes, message=message)


def _hash_file(path: Path) -> str:
    with open_input(path, "an IDX file") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def name_file(part: str) -> str:
    """The name that mirrors have for a part: MNIST's."""
    kind = "idx3" if part.endswith("images") else "idx1"
    return f"{part}-{kind}-ubyte.gz"
