"""IDX files: what is read is what was stored, and what is broken is refused in one line."""

import gzip
import hashlib
import math
import os
import re
import struct
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal_of

from elmlda.datasets import content as content_module
from elmlda.datasets import idx
from elmlda.datasets.idx import read_idx, read_idx_file
from elmlda.errors import ElmldaError
from elmlda.machine import available_memory

# Element type -> struct's letter, numpy's native type and Hypothesis' values.
TYPES = {
    0x08: ("B", np.uint8, st.integers(0, 2**8 - 1)),
    0x09: ("b", np.int8, st.integers(-(2**7), 2**7 - 1)),
    0x0B: ("h", np.int16, st.integers(-(2**15), 2**15 - 1)),
    0x0C: ("i", np.int32, st.integers(-(2**31), 2**31 - 1)),
    0x0D: ("f", np.float32, st.floats(width=32, allow_nan=False)),
    0x0E: ("d", np.float64, st.floats(allow_nan=False)),
}


def idx_bytes(code, shape, values):
    header = struct.pack(f">2xBB{len(shape)}I", code, len(shape), *shape)
    return header + struct.pack(f">{len(values)}{TYPES[code][0]}", *values)


def write(folder, content, name="file"):
    path = Path(folder) / name
    path.write_bytes(content)
    return path


def refusal(path):
    """Return the message that `path` is refused with, without the path before it."""
    return check_message(path, refusal_of(read_idx, path))


def read_or_refuse(path):
    """Return the array in `path`, or None if it is refused as it should be."""
    try:
        return read_idx(path)
    except ElmldaError as error:
        check_message(path, str(error))
        return None


def check_message(path, message):
    assert message.startswith(f"{path}: ")
    assert message.endswith(".")
    assert "\n" not in message
    assert len(message) < 300 + len(str(path))
    return message.removeprefix(f"{path}: ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return one folder for all examples of a property."""
    return tmp_path_factory.mktemp("idx")


@st.composite
def arrays(draw):
    """Draw an element type, a shape of rank 1 to 8, and as many values."""
    code = draw(st.sampled_from(sorted(TYPES)))
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=8))
    shape = [size if math.prod(shape[: i + 1]) <= 64 else 1 for i, size in enumerate(shape)]
    n = math.prod(shape)
    return code, shape, draw(st.lists(TYPES[code][2], min_size=n, max_size=n))


GZIP_SAMPLE = idx_bytes(0x0B, (2, 3), (1, -2, 3, -4, 5, -6))
GZIP_VALUES = [[1, -2, 3], [-4, 5, -6]]


# What is stored is what is read


@given(array=arrays(), packed=st.booleans())
def test_every_type_and_shape_comes_back(folder, array, packed):
    code, shape, values = array
    content = idx_bytes(code, shape, values)
    read = read_idx(write(folder, gzip.compress(content) if packed else content))
    assert read.dtype == TYPES[code][1]
    assert read.dtype.isnative
    assert read.flags.c_contiguous
    assert read.flags.writeable
    assert read.shape == tuple(shape)
    assert read.ravel().tolist() == values


@pytest.mark.parametrize("code", [0x0D, 0x0E])
def test_every_bit_of_a_nan_comes_back(tmp_path, code):
    bits = b"\x7f\xf8\x00\x00\x00\x00\x12\x34" if code == 0x0E else b"\x7f\xc0\x12\x34"
    read = read_idx(write(tmp_path, idx_bytes(code, (1,), (0.0,))[:8] + bits))
    assert np.isnan(read[0])
    assert read.byteswap().tobytes() == bits


MOST_DIMENSIONS = 64 if int(np.__version__.split(".")[0]) > 1 else 32


@pytest.mark.parametrize("rank", [1, 2, 3, 32, MOST_DIMENSIONS])
def test_every_rank_that_numpy_has(tmp_path, rank):
    shape = (2, *[1] * (rank - 1))
    assert read_idx(write(tmp_path, idx_bytes(0x08, shape, (7, 9)))).shape == shape


@pytest.mark.parametrize("rank", [65, 255])
def test_a_rank_beyond_numpy_is_refused(tmp_path, rank):
    message = refusal(write(tmp_path, idx_bytes(0x08, [1] * rank, (7,))))
    assert message.startswith(f"1 × 1 × 1 × … ({rank} dimensions) values cannot be held as one")


@pytest.mark.parametrize("name", ["file", "file.gz", "file.idx3-ubyte"])
@pytest.mark.parametrize("packed", [False, True])
def test_gzip_is_seen_from_the_content_not_the_name(tmp_path, name, packed):
    content = gzip.compress(GZIP_SAMPLE) if packed else GZIP_SAMPLE
    assert read_idx(write(tmp_path, content, name)).tolist() == GZIP_VALUES


@pytest.mark.parametrize("level", range(10))
def test_every_compression_level(tmp_path, level):
    path = write(tmp_path, gzip.compress(GZIP_SAMPLE, level))
    assert read_idx(path).tolist() == GZIP_VALUES


def test_gzip_with_a_file_name_in_its_header(tmp_path):
    path = tmp_path / "named.gz"
    with gzip.GzipFile(path, "wb") as file:
        file.write(GZIP_SAMPLE)
    assert b"named" in path.read_bytes()
    assert read_idx(path).tolist() == GZIP_VALUES


@pytest.mark.parametrize("cut", range(len(GZIP_SAMPLE) + 1))
def test_gzip_of_several_members(tmp_path, cut):
    content = gzip.compress(GZIP_SAMPLE[:cut]) + gzip.compress(GZIP_SAMPLE[cut:])
    assert read_idx(write(tmp_path, content)).tolist() == GZIP_VALUES


def test_gzip_may_be_padded_with_zeros(tmp_path):
    path = write(tmp_path, gzip.compress(GZIP_SAMPLE) + bytes(512))
    assert read_idx(path).tolist() == GZIP_VALUES


def test_the_path_may_be_a_string(tmp_path):
    assert read_idx(str(write(tmp_path, GZIP_SAMPLE))).tolist() == GZIP_VALUES


@pytest.mark.parametrize("packed", [False, True])
def test_length_and_checksum_are_of_the_content(tmp_path, packed):
    content = idx_bytes(0x08, (3 << 20,), bytes(range(256)) * (3 << 12))
    path = write(tmp_path, gzip.compress(content, 1) if packed else content)
    file = read_idx_file(path)
    assert file.path == path
    assert file.n_bytes == len(content)
    assert file.sha256 == hashlib.sha256(content).hexdigest()


# What is broken is refused


IMAGES = idx_bytes(0x08, (10, 4, 4), bytes(160))
BAD_MAGIC = "starts with the bytes {}, expected 00 00: not an IDX file."
BAD_TYPE = (
    "element type 0x{}, expected one of 0x08 (uint8), 0x09 (int8), 0x0B (int16), 0x0C (int32), "
    "0x0D (float32), 0x0E (float64)."
)
BROKEN = {
    "empty": (b"", "0 bytes, expected at least 8 for an IDX header: the file is cut off."),
    "three bytes": (
        b"\0\0\x08",
        "3 bytes, expected at least 8 for an IDX header: the file is cut off.",
    ),
    "zip": (b"PK\x03\x04" + bytes(99), BAD_MAGIC.format("50 4b 03 04")),
    "second byte": (b"\0\1\x08\1" + bytes(4), BAD_MAGIC.format("00 01 08 01")),
    "type 0x0A": (b"\0\0\x0a\1" + bytes(4), BAD_TYPE.format("0A")),
    "type 0x00": (bytes(99), BAD_TYPE.format("00")),
    "rank 0": (b"\0\0\x08\0\7", "0 dimensions, expected 1 or more."),
    "no sizes": (
        b"\0\0\x08\3",
        "4 bytes, expected at least 16 for the header of 3 dimensions: the file is cut off.",
    ),
    "half the sizes": (
        IMAGES[:10],
        "10 bytes, expected at least 16 for the header of 3 dimensions: the file is cut off.",
    ),
    "no images": (
        IMAGES[:16],
        "16 bytes, expected 176 for 10 × 4 × 4 images: the file is cut off.",
    ),
    "a byte short": (
        IMAGES[:-1],
        "175 bytes, expected 176 for 10 × 4 × 4 images: the file is cut off.",
    ),
    "half a value": (
        idx_bytes(0x0E, (2,), (1.0, 2.0))[:-4],
        "20 bytes, expected 24 for 2 values: the file is cut off.",
    ),
    "a byte too many": (
        IMAGES + b"\0",
        "177 bytes, expected 176 for 10 × 4 × 4 images: the file is too long.",
    ),
    "an overflow": (
        struct.pack(">2xBB4I", 8, 4, 0, 2**32 - 1, 2**32 - 1, 2**32 - 1),
        "0 × 4294967295 × 4294967295 × 4294967295 values cannot be held as one array: array is "
        "too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.",
    ),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_content_is_refused(tmp_path, content, message):
    assert refusal(write(tmp_path, content)) == message


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_content_is_refused_inside_gzip(tmp_path, content, message):
    message = message.replace(" bytes, expected", " bytes after decompression, expected")
    message = message.replace("177", "more than 176")
    assert refusal(write(tmp_path, gzip.compress(content))) == message


PACKED = gzip.compress(IMAGES)


STOPS = r"the gzip data stop after \d+ bytes of content: the file is cut off\."
BROKEN_GZIP = {
    "only the magic": (PACKED[:2], STOPS),
    "cut in the data": (PACKED[:-9], STOPS),
    "cut in the trailer": (PACKED[:-1], STOPS),
    "trailing garbage": (
        PACKED + b"garbage",
        r"broken gzip data: something else follows its end\.",
    ),
    "trailing byte": (PACKED + b"g", r"broken gzip data: something else follows its end\."),
    "half a second member": (PACKED + PACKED[:9], STOPS),
    "unknown method": (
        PACKED[:2] + b"\7" + PACKED[3:],
        r"broken gzip data: Unknown compression method\.",
    ),
    "wrong length": (
        PACKED[:-1] + b"\1",
        r"broken gzip data: Incorrect length of data produced\.",
    ),
    "wrong CRC": (
        PACKED[:-8] + bytes(4) + PACKED[-4:],
        r"broken gzip data: CRC check failed .*\.",
    ),
    "wrong deflate block": (
        PACKED[:10] + b"\xff" * 9 + PACKED[19:],
        r"broken gzip data: Error -3 while decompressing data: invalid block type\.",
    ),
}


@pytest.mark.parametrize(("content", "message"), BROKEN_GZIP.values(), ids=BROKEN_GZIP)
def test_broken_gzip_is_refused(tmp_path, content, message):
    assert re.fullmatch(message, refusal(write(tmp_path, content)))


@st.composite
def damages(draw, content):
    """Draw a few byte edits, then perhaps a cut, and perhaps an addition."""
    damaged = bytearray(content)
    for _ in range(draw(st.integers(0, 3))):
        damaged[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    del damaged[draw(st.integers(0, len(content)) | st.just(len(content))) :]
    return bytes(damaged) + draw(st.just(b"") | st.binary(max_size=8))


SAMPLE = idx_bytes(0x0C, (2, 2, 2), range(8))
SAMPLE_GZIP = gzip.compress(SAMPLE, mtime=0)


@settings(max_examples=300)
@given(content=damages(SAMPLE))
def test_damaged_raw_files_are_read_as_their_header_says_or_refused(folder, content):
    path = write(folder, content)
    read = read_or_refuse(path)
    if read is None:
        assert content != SAMPLE
        return
    rank = content[3]
    assert content[:2] == b"\0\0"
    assert read.dtype == TYPES[content[2]][1]
    assert read.shape == struct.unpack_from(f">{rank}I", content, 4)
    assert len(content) == 4 + 4 * rank + read.nbytes
    if content[:16] == SAMPLE[:16]:
        assert read.astype(">i4").tobytes() == content[16:]


@settings(max_examples=300)
@given(content=damages(SAMPLE_GZIP))
def test_damaged_gzip_files_are_read_the_same_or_refused(folder, content):
    path = write(folder, content)
    read = read_or_refuse(path)
    if read is None:
        assert content != SAMPLE_GZIP
    else:
        assert read.dtype == np.int32
        assert read.tolist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]


@settings(max_examples=200)
@given(content=st.binary(max_size=80), start=st.sampled_from([b"", b"\0\0", PACKED[:10]]))
def test_arbitrary_bytes_raise_nothing_else(folder, content, start):
    read_or_refuse(write(folder, start + content))


# Memory


def peak_of_refusal(path):
    """Return the most memory in use at a time while `path` is refused, and the message."""
    tracemalloc.start()
    try:
        message = refusal(path)
        return tracemalloc.get_traced_memory()[1], message
    finally:
        tracemalloc.stop()


def absurd(n_images):
    return struct.pack(">2xBB3I", 8, 3, n_images, 28, 28) + bytes(784)


@pytest.mark.parametrize("packed", [False, True])
def test_an_absurd_header_takes_no_memory(tmp_path, packed):
    content = absurd(2**32 - 1)
    peak, message = peak_of_refusal(
        write(tmp_path, gzip.compress(content, mtime=0) if packed else content)
    )
    found = r"at most \d\d,\d{3} bytes after decompression" if packed else "800 bytes"
    promise = r"3,367,254,359,296 for 4294967295 × 28 × 28 images: the file is cut off\."
    assert re.fullmatch(f"{found}, expected {promise}", message)
    assert peak < 1 << 20


@pytest.mark.parametrize("packed", [False, True])
def test_the_most_absurd_header_of_all(tmp_path, packed):
    content = struct.pack(">2xBB255I", 0x0E, 255, *[2**32 - 1] * 255)
    peak, message = peak_of_refusal(write(tmp_path, gzip.compress(content) if packed else content))
    assert "expected more than 10^18 for 4294967295 × 4294967295 × 4294967295 × … (255" in message
    assert peak < 1 << 20


def gzip_of_zeros(header, n_bytes):
    """Compress a header and zeros, a little at a time."""
    packer = zlib.compressobj(9, wbits=31)
    block = bytes(1 << 20)
    parts = [packer.compress(header), *(packer.compress(block) for _ in range(n_bytes >> 20))]
    return b"".join(parts) + packer.flush()


def test_a_gzip_bomb_is_not_unpacked(tmp_path):
    path = write(tmp_path, gzip_of_zeros(struct.pack(">2xBBI", 8, 1, 10), 64 << 20))
    peak, message = peak_of_refusal(path)
    assert message == (
        "more than 18 bytes after decompression, expected 18 for 10 values: the file is too long."
    )
    assert peak < 1 << 20


def test_the_tightest_gzip_there_is_can_be_read(tmp_path):
    n_bytes = 32 << 20
    content = gzip_of_zeros(struct.pack(">2xBBI", 8, 1, n_bytes), n_bytes)
    assert n_bytes / len(content) > 0.99 * idx.MAX_GZIP_EXPANSION
    assert not read_idx(write(tmp_path, content)).any()


def test_reading_gzip_takes_little_more_than_the_array(tmp_path):
    n_bytes = 32 << 20
    path = write(tmp_path, gzip_of_zeros(struct.pack(">2xBBI", 8, 1, n_bytes), n_bytes))
    tracemalloc.start()
    try:
        read_idx(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n_bytes + (4 << 20)


@pytest.mark.parametrize("packed", [False, True])
def test_what_does_not_fit_in_memory_is_refused(tmp_path, monkeypatch, packed):
    monkeypatch.setattr(content_module, "available_memory", lambda: 159)
    path = write(tmp_path, PACKED if packed else IMAGES)
    assert refusal(path) == (
        "160 bytes for 10 × 4 × 4 images, expected at most the 159 bytes of memory that are free."
    )
    monkeypatch.setattr(content_module, "available_memory", lambda: 160)
    assert read_idx(path).shape == (10, 4, 4)
    monkeypatch.setattr(content_module, "available_memory", lambda: None)
    assert read_idx(path).shape == (10, 4, 4)


REFUSED_BY_THE_SYSTEM = """
import resource, sys
from elmlda.datasets import content, idx
from elmlda.errors import ElmldaError
content.available_memory = lambda: None
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    idx.read_idx(sys.argv[1])
except ElmldaError as error:
    print(error)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on memory")
def test_memory_that_the_system_refuses(tmp_path):
    path = write(tmp_path, struct.pack(">2xBB2I", 8, 2, 16, 1 << 30))
    os.truncate(path, 12 + (16 << 30))
    command = [sys.executable, "-c", REFUSED_BY_THE_SYSTEM, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    message = f"{path}: 16 × 1073741824 values cannot be held as one array: Unable to allocate 16."
    assert done.stdout.startswith(message)


def test_available_memory_is_a_plausible_number():
    assert 1 << 24 < available_memory() < 1 << 50


def test_available_memory_without_proc(monkeypatch, without_proc):
    assert 1 << 24 < available_memory() < 1 << 50
    monkeypatch.delattr(os, "sysconf")
    assert available_memory() is None


# Files that are none


def test_a_missing_file(tmp_path):
    assert refusal(tmp_path / "none") == "cannot be read: No such file or directory."


def test_a_folder(tmp_path):
    assert refusal(tmp_path) == "a folder, expected an IDX file."


def test_a_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == "a pipe or device, expected an IDX file."


def test_an_unreadable_file(tmp_path, request):
    path = write(tmp_path, GZIP_SAMPLE)
    path.chmod(0)
    request.getfixturevalue("unprivileged")
    assert refusal(path) == "cannot be read: Permission denied."


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that fails")
def test_a_file_that_fails_while_it_is_read():
    assert refusal(Path("/proc/self/mem")) == "cannot be read: Input/output error."
