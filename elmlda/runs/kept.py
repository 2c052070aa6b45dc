"""What a run keeps of its networks beside the rows: test posteriors and wrong answers.

Each network has a file of its own until twenty of them are packed into one. Posteriors are float16,
which compresses well. Two networks that are sure of different classes can tie then, on MNIST at fan-out
20 on some 20 of 10,000 samples; with more networks there are hardly any ties.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.files import NOT_ARRAYS, explain_refusal, write_atomically

KEPT = "kept"
GROUP = 20
"""Networks in a packed file."""
Arrays = Mapping[str, NDArray[Any]]


def keep_test(folder: Path, labels: NDArray[np.int64], classes: Iterable[str]) -> None:
    """Keep what the test samples are, once."""
    path = folder / KEPT / "test.npz"
    if not path.exists():
        _write(path, {"labels": labels, "classes": np.array(list(classes), np.str_)})


def keep_network(folder: Path, network: int, arrays: Arrays) -> None:
    """Keep a network's arrays; a whole group of networks is packed into one file."""
    _write(folder / KEPT / f"{network}.npz", arrays)
    first = network - network % GROUP
    paths = [folder / KEPT / f"{number}.npz" for number in range(first, first + GROUP)]
    if not all(path.exists() for path in paths):
        return
    group = {number: _read(path) for number, path in enumerate(paths, start=first)}
    if not all(group.values()):
        return
    packed = {
        f"{name}-{number}": values for number, each in group.items() for name, values in each.items()
    }
    _write(folder / KEPT / f"{first}-{first + GROUP - 1}.npz", packed)
    for path in paths:
        path.unlink()


def list_kept(folder: Path) -> list[int]:
    """Numbers of the networks that are kept."""
    found: set[int] = set()
    for path in (folder / KEPT).glob("*.npz"):
        if match := re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", path.stem):
            found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return sorted(found)


def read_kept(folder: Path, name: str, networks: Iterable[int]) -> dict[int, NDArray[Any]]:
    """One array of each of these networks, by number; networks that lack it are left out."""
    found: dict[int, NDArray[Any]] = {}
    wanted = list(networks)
    for first in sorted({number - number % GROUP for number in wanted}):
        packed = _read(folder / KEPT / f"{first}-{first + GROUP - 1}.npz", f"{name}-")
        for number in (n for n in wanted if n - n % GROUP == first):
            # A file of its own is newer than the group's.
            single = _read(folder / KEPT / f"{number}.npz", name).get(name)
            values = packed.get(f"{name}-{number}") if single is None else single
            if values is not None:
                found[number] = values
    return found


def _read(path: Path, prefix: str = "") -> dict[str, NDArray[Any]]:
    """A file's arrays whose name starts so; none if there is no such file, or it is broken."""
    try:
        # Of a file that is not whole numpy would leave the descriptor open.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files if name.startswith(prefix)}
    except (FileNotFoundError, *NOT_ARRAYS):
        return {}


def _write(path: Path, arrays: Arrays) -> None:
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type,unused-ignore]
    with explain_refusal(path):
        path.parent.mkdir(exist_ok=True)
    write_atomically(path, content.getvalue())
