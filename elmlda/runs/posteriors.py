"""Test posteriors of a run's networks, used only if their checksum and their run match."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.core.arrays import FloatArray
from elmlda.core.evaluate import require_posteriors
from elmlda.datasets.npz_file import open_npz
from elmlda.errors import ElmldaError
from elmlda.runs.files import explain_refusal, write_atomically


@dataclass(frozen=True)
class PosteriorStore:
    """Test posteriors of a run's networks, one file each, used only if checksum and run match."""

    run_folder: Path
    identity: Mapping[str, Any]
    """The run's, as in its manifest: a file of another run is not used."""
    shape: tuple[int, int]
    """n_test × n_classes."""
    require: Callable[[FloatArray], None] = require_posteriors
    """Refuses an array that can't be what is kept."""

    @property
    def _folder(self) -> Path:
        return self.run_folder / "posteriors"

    def write(
        self,
        key: tuple[int, ...],
        n_hidden: int,
        posteriors: FloatArray,
        wrong: NDArray[np.uint8] | None = None,
    ) -> None:
        """Keep a network's posteriors (float32), and its wrong answers at all sizes."""
        self.require(posteriors)
        content = io.BytesIO()
        np.savez(
            content,
            posteriors=posteriors,
            wrong=np.zeros(0, np.uint8) if wrong is None else wrong,
            network=np.array(self._network(key, n_hidden)),
            sha256=np.array(hashlib.sha256(posteriors.tobytes()).hexdigest()),
        )
        path = self._path(key, n_hidden)
        with explain_refusal(path):
            if self._folder.is_symlink():
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            self._folder.mkdir(exist_ok=True)
        write_atomically(path, content.getvalue())

    def read(self, key: tuple[int, ...], n_hidden: int) -> FloatArray | None:
        """A network's posteriors; None if there are none, with a warning if they are broken."""
        path = self._path(key, n_hidden)
        try:
            return self._read(path, self._network(key, n_hidden)) if path.exists() else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, ElmldaError) as error:
            reason = str(error).removeprefix(f"{path}: ")
            warnings.warn(
                f"{path}: not used, the network is trained again where it is needed: {reason}",
                UntrustedPosteriorsWarning,
                stacklevel=2,
            )
            return None

    def list_networks(self, n_hidden: int) -> list[int]:
        """Numbers of the networks that have a file at this size, whether or not it can be trusted."""
        return sorted(network for network, size in self._list_files() if size == n_hidden)

    def list_sizes(self) -> list[int]:
        """The hidden sizes of the files, whether or not they can be trusted."""
        return [size for _, size in self._list_files()]

    def _list_files(self) -> Iterator[tuple[int, int]]:
        """Number and hidden size of each file's network."""
        for path in self._folder.glob("*.npz"):
            if match := re.fullmatch(r"([0-9]{1,12})(?:-[0-9]+)*-([0-9]{1,12})\.npz", path.name):
                yield int(match[1]), int(match[2])

    def _read(self, path: Path, network: str) -> FloatArray:
        expected = 4 * self.shape[0] * self.shape[1]
        if path.stat().st_size > expected + 100_000:
            raise ValueError(f"{path.stat().st_size:,} bytes, expected about {expected:,}")
        with open_npz(path) as archive:
            if str(archive.read("network").values) != network:
                raise ValueError("it is of another run or network")
            posteriors: FloatArray = archive.read("posteriors").values
            sha256 = str(archive.read("sha256").values)
        if posteriors.shape != self.shape or posteriors.dtype != np.float32:
            raise ValueError(f"{posteriors.dtype} of shape {posteriors.shape}")
        if hashlib.sha256(posteriors.tobytes()).hexdigest() != sha256:
            raise ValueError("the content does not have its checksum")
        self.require(posteriors)
        return posteriors

    def _path(self, key: tuple[int, ...], n_hidden: int) -> Path:
        return self._folder / f"{'-'.join(map(str, key))}-{n_hidden}.npz"

    def _network(self, key: tuple[int, ...], n_hidden: int) -> str:
        about = {"run": self.identity, "key": list(key), "n_hidden": n_hidden}
        return json.dumps(about, sort_keys=True)


class UntrustedPosteriorsWarning(UserWarning):
    """A file of posteriors is broken, or of another network, and is not used."""
