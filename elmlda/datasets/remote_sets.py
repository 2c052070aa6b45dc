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
    choose_file,
    find_files,
    find_four,
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
        for part in self.files.keys() - self.content_sha256.keys():
            path = find_four(self.folder)[part]
            if message := self._compare_file(part, path, _hash_file(path)):
                raise ElmldaError(message)
        dataset = load_idx_folder(self.folder, self.known.name, self.content_sha256)
        return replace(dataset, classes=self.known.classes)

    def verify(self) -> list[FileCheck]:
        """Check each file that was fetched, going on after a broken one."""
        self._require_here()
        return [
            self._add_checksum(check) for check in verify_idx_folder(self.folder, self.content_sha256)
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
        for part, file in self.files.items():
            if self._has(part):
                lines.append(f"{file.name}: already here")
                continue
            mirror = download(self.known.name, file, self.mirrors, self.folder, progress)
            lines.append(f"{file.name}: fetched from {mirror}")
        return lines

    def _copy_from(self, source: Path) -> list[str]:
        paths = find_four(source)
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

    def _has(self, part: str) -> bool:
        """Whether a part is here and the original."""
        try:
            path = choose_file(self.folder, part, find_files(self.folder)[part])
            self._require_original(part, path)
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

    def _compare_file(self, part: str, path: Path, found: str) -> str | None:
        """What is wrong with a file of which only the checksum before decompression is known."""
        if (expected := self.files[part].sha256) == found:
            return None
        return (
            f"{path}: SHA-256 {found}, expected {expected}: the file is not the original. "
            f"Remove it and run elmlda data fetch {self.known.name}"
        )

    def _add_checksum(self, check: FileCheck) -> FileCheck:
        if not check.ok or check.expected_sha256:
            return check
        found = _hash_file(check.path)
        fault = self._compare_file(check.name, check.path, found)
        return replace(
            check,
            ok=fault is None,
            message=fault or check.message,
            expected_sha256=self.files[check.name].sha256,
            found_sha256=found,
        )


def _hash_file(path: Path) -> str:
    with open_input(path, "an IDX file") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def name_file(part: str) -> str:
    """The name that mirrors have for a part: MNIST's."""
    kind = "idx3" if part.endswith("images") else "idx1"
    return f"{part}-{kind}-ubyte.gz"
