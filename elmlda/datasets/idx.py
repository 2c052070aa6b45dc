"""IDX, the format of MNIST, and the data set that four IDX files are.

An IDX file is two zero bytes, a byte for the element type, a byte for the rank, the size of each
dimension as a big-endian uint32, and then the elements, big-endian, the last dimension fastest.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.datasets.arrays import build_dataset
from elmlda.datasets.files import hash_content
from elmlda.datasets.split import Dataset
from elmlda.errors import ElmldaError
from elmlda.text import format_shape, join_words

ELEMENT_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
PARTS = ("train-images", "train-labels", "t10k-images", "t10k-labels")


def parse_idx(content: bytes, path: Path) -> NDArray[Any]:
    """The array in an IDX file's content; the path is for messages."""
    code, rank = (content + bytes(4))[2:4]
    sizes = content[4 : 4 + 4 * rank]
    if content[:2] != b"\0\0" or code not in ELEMENT_TYPES or not rank or len(sizes) < 4 * rank:
        fact = f"{path}: not an IDX file: it starts with {content[:4].hex(' ') or 'nothing'}"
        raise ElmldaError(f"{fact}, expected 00 00, an element type, a rank and sizes.")
    dtype, shape = np.dtype(ELEMENT_TYPES[code]), struct.unpack(f">{rank}I", sizes)
    expected = 4 + 4 * rank + math.prod(shape) * dtype.itemsize
    if len(content) != expected:
        what = f"{format_shape(shape)} {'images' if rank == 3 else 'values'}"
        verdict = "too long" if len(content) > expected else "cut off"
        fact = f"{len(content):,} bytes, expected {expected:,} for {what}: the file is {verdict}"
        raise ElmldaError(f"{path}: {fact}.")
    values = np.frombuffer(content, dtype, offset=4 + 4 * rank).reshape(shape)
    return values.astype(dtype.newbyteorder("="), copy=False)


def assemble_idx(name: str, contents: Mapping[str, tuple[Path, bytes]]) -> Dataset:
    """Make a data set of the four parts' paths and contents."""
    arrays = {str(path): parse_idx(content, path) for path, content in contents.values()}
    checksums = {part: hash_content(content) for part, (_, content) in contents.items()}
    return build_dataset(name, arrays, checksums, standardised=False)


def find_parts(folder: Path) -> dict[str, Path]:
    """The file that is each part, raw before .gz; an error names those that are missing."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir() if folder.is_dir() else []):
        match = re.fullmatch(rf"({'|'.join(PARTS)})[-.]idx\d+([-.]\w+)?(\.gz)?", path.name)
        if match and path.is_file():  # some archives unpack each file into a folder of its own name
            other = found.setdefault(match[1], path)
            if path.name not in (other.name, f"{other.name}.gz"):
                fact = f"{folder}: {other.name} and {path.name} could each be {match[1]}"
                raise ElmldaError(f"{fact}, expected only one of them.")
    if missing := [part for part in PARTS if part not in found]:
        names = "train-images-idx3-ubyte or train-images.idx3-ubyte, with or without .gz"
        raise ElmldaError(f"{folder}: no {join_words(missing)}; looked for names like {names}.")
    return {part: found[part] for part in PARTS}
