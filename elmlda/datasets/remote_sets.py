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
        source : Path, optional
            A folder that has them, raw or gzip; without it they come from a mirror.
        progress : callable, optional
            Makes the bar of each download.

        Returns
        -------
        list of str
            What was done, a line for each file.

        Raises
        ------
        ElmldaError
            If no mirror gives a file, the folder has others, or they can't be stored. What was here
            before is untouched, and what arrived whole stays.
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
        if file.content_sha256:
            found, expected = read_idx_file(path).sha256, file.content_sha256
        else:
            found, expected = _hash_file(path), file.sha256
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

    def _parts_to_hash(self) -> list[str]:
        """Parts of which only the compressed file's checksum is known."""
        return [part for part, file in self.files.items() if not file.content_sha256]

    def _check_file(self, part: str) -> FileCheck:
        path = choose_file(self.folder, part, find_files(self.folder)[part])
        found, expected = _hash_file(path), self.files[part].sha256
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


def _name_files(sha256: tuple[str, ...], content: tuple[str | None, ...]) -> dict[str, RemoteFile]:
    """Files with the names that MNIST's have, in the order of `PARTS`."""
    kinds = {"images": "idx3", "labels": "idx1"}
    names = [f"{part}-{kinds[part.split('-')[1]]}-ubyte.gz" for part in PARTS]
    files = map(RemoteFile, names, sha256, content)
    return dict(zip(PARTS, files, strict=True))


def _describe(
    name: str, title: str, origin: str, licence: str, citation: str, classes: tuple[str, ...]
) -> DatasetInfo:
    """As MNIST, but for what is told here; where it is turns out when asked."""
    shape, where = (28, 28), Path(name)
    counts = 60_000, 10_000, 784
    return DatasetInfo(name, title, origin, licence, citation, *counts, shape, classes, where)


FASHION_MNIST = RemoteSet(
    _describe(
        "fashion-mnist",
        "Fashion-MNIST, Zalando's article images",
        "Han Xiao, Kashif Rasul and Roland Vollgraf, Zalando Research",
        "MIT",
        'H. Xiao, K. Rasul and R. Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking '
        'machine learning algorithms", arXiv:1708.07747, 2017',
        (
            "T-shirt/top",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Ankle boot",
        ),
    ),
    (
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
    ),
    _name_files(
        (
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ),
        (
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    ),
)

KMNIST = RemoteSet(
    _describe(
        "kmnist",
        "Kuzushiji-MNIST, cursive Japanese characters",
        "Tarin Clanuwat and others, Center for Open Data in the Humanities",
        "CC BY-SA 4.0",
        "T. Clanuwat, M. Bober-Irizar, A. Kitamoto, A. Lamb, K. Yamamoto and D. Ha, "
        '"Deep learning for classical Japanese literature", arXiv:1812.01718, 2018',
        ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"),
    ),
    (
        "http://codh.rois.ac.jp/kmnist/dataset/kmnist/",
        "https://codh.rois.ac.jp/kmnist/dataset/kmnist/",
    ),
    _name_files(
        (
            "51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4",
            "e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17",
            "edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5",
            "20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c",
        ),
        # Not known: no copy could be had to decompress.
        (None, None, None, None),
    ),
)

REMOTE_SETS = (FASHION_MNIST, KMNIST)
