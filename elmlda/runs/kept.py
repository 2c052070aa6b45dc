"""Arrays that a run keeps of its networks: log-posteriors of the test samples, and wrong answers.

Each network has a file. Networks of a sweep are in `kept`; networks that an ensemble trained are in
`kept/ensemble`, as their size may differ.

`log_posteriors` are LDA's at the largest size, in float32; `loo_temperature` is their temperature if
leave-one-out chose it; `wrong` marks each method's wrong answers at every size; `sizes` are the hidden
sizes; `labels` are the classes of the test samples in cross-validation. Versions up to 0.2.0 of August
kept `posteriors` in float16 instead, which makes two confident networks tie, and packed twenty networks
into one file.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.datasets.arrays import NOT_ARRAYS
from elmlda.runs.folder import KEPT, explain_refusal, write_atomically

MEMBERS = "ensemble"
"""Subfolder of the networks that an ensemble trained."""
GROUP = 20
"""Number of networks in a file of earlier versions."""
Arrays = Mapping[str, NDArray[Any]]


def keep_test(folder: Path, labels: NDArray[np.int64], classes: Iterable[str]) -> None:
    """Keep the classes of the test samples, once."""
    path = folder / KEPT / "test.npz"
    if not path.exists():
        _write(path, {"labels": labels, "classes": np.array(list(classes), np.str_)})


def keep_network(folder: Path, network: int, arrays: Arrays, part: str = "") -> None:
    """Keep a network's arrays."""
    _write(folder / KEPT / part / f"{network}.npz", arrays)


def list_kept(folder: Path, part: str = "") -> list[int]:
    """Return the numbers of the kept networks."""
    numbers: set[int] = set()
    for path in (folder / KEPT / part).glob("*.npz"):
        if match := re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", path.stem):
            numbers.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return sorted(numbers)


def read_kept(
    folder: Path, name: str, networks: Iterable[int], part: str = ""
) -> dict[int, NDArray[Any]]:
    """Read one array of each network, by number; networks without the array are left out."""
    arrays: dict[int, NDArray[Any]] = {}
    place = folder / KEPT / part
    packed = cache(lambda first: _read(place / f"{first}-{first + GROUP - 1}.npz", f"{name}-"))
    for number in networks:  # a network's own file is newer than one of twenty
        single = _read(place / f"{number}.npz", name).get(name)
        values = packed(number - number % GROUP).get(f"{name}-{number}") if single is None else single
        if values is not None:
            arrays[number] = values
    return arrays


def read_at_size(
    folder: Path, name: str, networks: Iterable[int] | None, n_hidden: int
) -> dict[int, NDArray[Any]]:
    """Read one array of the networks whose largest size is `n_hidden`; None: of all such networks."""
    arrays: dict[int, NDArray[Any]] = {}
    for part in ("", MEMBERS):
        numbers = list_kept(folder, part) if networks is None else networks
        sizes = read_kept(folder, "sizes", numbers, part)
        same_size = [number for number in sizes if sizes[number][-1] == n_hidden]
        arrays |= read_kept(folder, name, same_size, part)
    return dict(sorted(arrays.items()))


def _read(path: Path, prefix: str) -> dict[str, NDArray[Any]]:
    """Read the arrays whose names have a prefix; none from a file that is missing or broken."""
    try:
        # Given a path, numpy would leave the descriptor of a torn file open.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files if name.startswith(prefix)}
    except (FileNotFoundError, *NOT_ARRAYS):
        return {}


def _write(path: Path, arrays: Arrays) -> None:
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type,unused-ignore]
    with explain_refusal(path):
        path.parent.mkdir(exist_ok=True)  # not the run's folder, if that is gone
    write_atomically(path, content.getvalue())
