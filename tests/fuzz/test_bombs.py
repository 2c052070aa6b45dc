"""Small files that promise, or would unpack to, far more than there is: no memory is taken for them."""

import gzip
import io
import json
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image
from targets import TARGETS

MEGABYTE = 1 << 20
HEADER = "{'descr': '%s', 'fortran_order': False, 'shape': %s}\n"
CHILD = """
import json, pathlib, re, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from click.testing import CliRunner
from elmlda.cli import cli
import PIL.PngImagePlugin

def resident(what):
    text = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(rf"{what}:\\s+(\\d+) kB", text)[1])

def run(name, arguments):
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    before, start = resident("VmRSS"), time.process_time()
    result = CliRunner().invoke(cli, arguments)
    found = {
        "exit_code": result.exit_code,
        "exception": type(result.exception).__name__,
        "message": result.stderr.splitlines(),
        "megabytes": (resident("VmHWM") - before) // 1024,
        "seconds": time.process_time() - start,
    }
    print(json.dumps({name: found}))

for name, arguments in json.load(sys.stdin):
    run(name, arguments)
"""


def npy(header, data=b""):
    text = header.encode().ljust(118)
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + data


def huge_npy(shape="(1000000000, 4)"):
    return npy(HEADER % ("<f8", shape), bytes(64))


def zipped(members, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def png(width, height):
    """A sound picture of one colour, row by row: a thousand times smaller than its pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(1 + width)) for _ in range(height)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def model(**changes):
    """A model whose description says something else."""
    with np.load(io.BytesIO(TARGETS["model"].seeds()[0])) as stored:
        arrays = dict(stored)
    about = json.loads(str(arrays["about"]))
    about["networks"][0].update(changes)
    about["image_shape"] = None
    file = io.BytesIO()
    np.savez(file, **{**arrays, "about": np.array(json.dumps(about))})
    return file.getvalue()


ZEROS = bytes(300 * MEGABYTE)
IDX_HEADER = struct.pack(">2xBB3I", 8, 3, 2**32 - 1, 2, 2)
PREDICT = ("predict", "model.npz")
SWEEP = ("sweep", "--dry-run", "--dataset", "iris")
BOMBS = {
    "IDX of 4 billion images": ("x-idx", lambda: IDX_HEADER + bytes(4), (*PREDICT, "x-idx")),
    "the same in gzip": (
        "x-idx.gz",
        lambda: gzip.compress(IDX_HEADER + ZEROS[: 30 * MEGABYTE]),
        (*PREDICT, "x-idx.gz"),
    ),
    "npy header": ("x.npy", huge_npy, (*PREDICT, "x.npy")),
    "npz header": ("x.npz", lambda: zipped({"x.npy": huge_npy()}), (*PREDICT, "x.npz")),
    "model whose description is 280 MB": (
        "x.npz",
        lambda: zipped({"about.npy": npy(HEADER % ("<U70000000", "()"))}),
        ("predict", "x.npz", "sound.npy"),
    ),
    "npz that unpacks to 300 MB with a header of 8 bytes": (
        "x.npz",
        lambda: zipped({"x.npy": huge_npy("(2, 4)") + ZEROS}),
        (*PREDICT, "x.npz"),
    ),
    "model of a billion inputs": (
        "m.npz", lambda: model(n_inputs=10**9), ("predict", "m.npz", "sound.npy"),
    ),
    "model of a billion hidden units": (
        "m.npz", lambda: model(n_hidden=10**9), ("predict", "m.npz", "sound.npy"),
    ),
    "PNG of 15,000 × 10,000": ("x.png", lambda: png(15_000, 10_000), (*PREDICT, "x.png")),
    "PNG of another size as it is": ("x.png", lambda: png(8000, 8000), (*PREDICT, "x.png", "--as-is")),
    "CSV of a giant line": ("x.csv", lambda: b"1," * (2 * MEGABYTE), (*PREDICT, "x.csv")),
    "CSV of a giant first line": (
        "x.csv", lambda: b"a," * (2 * MEGABYTE), ("data", "info", "x.csv", "--label", "a"),
    ),
    "CSV of a giant cell": ("x.csv", lambda: b"1" * (4 * MEGABYTE), (*PREDICT, "x.csv")),
    "TOML, deep": ("x.toml", lambda: b"fanout = " + b"[" * 15_000, (*SWEEP, "--config", "x.toml")),
    "a range without end": ("x", bytes, (*SWEEP, "--fanout", f"1-{10**18}")),
    "ranges again and again": ("x", bytes, (*SWEEP, "--fanout", "1-10000," * 10_000 + "1")),
    "repeats without end": ("x", bytes, (*SWEEP, "--repeats", str(10**12))),
    "scheduler file, deep": (
        "x.json",
        lambda: b'{"address": ' + b"[" * MEGABYTE,
        ("sweep", "--quiet", "--cluster", "x.json", "--dataset", "iris", "--fanout", "1"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What each does, one after the other in a process, and how far its memory's peak rises."""
    folder = tmp_path_factory.mktemp("bombs")
    (folder / "model.npz").write_bytes(TARGETS["model"].seeds()[0])
    np.save(folder / "sound.npy", np.zeros((1, 4)))
    Image.new("L", (20, 20)).save(folder / "sound.png")
    (folder / "sound.csv").write_text("a,b\n" + "1,2\n3,4\n" * 9)
    jobs = [
        ("sound", [*PREDICT, "sound.npy"]),
        ("empty", [*PREDICT, "sound.png"]),
        ("table", ["data", "info", "sound.csv", "--label", "a"]),
        ("plan", [*SWEEP, "--fanout", "1-3", "--repeats", "2"]),
    ]
    for i, (name, (file, make, arguments)) in enumerate(BOMBS.items()):
        (folder / f"{i}-{file}").write_bytes(make())
        jobs.append((name, [f"{i}-{file}" if word == file else word for word in arguments]))
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(jobs), capture_output=True, text=True, cwd=folder, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = {}
    for line in done.stdout.splitlines():
        results |= json.loads(line)
    assert results["sound"]["megabytes"] > 10, "the first loads numpy: a measure that sees nothing"
    assert [results[name]["exit_code"] for name in ("sound", "table", "plan")] == [0, 0, 0], results
    sizes = {name: (folder / f"{i}-{BOMBS[name][0]}").stat().st_size for i, name in enumerate(BOMBS)}
    return {name: {**results[name], "n_bytes": sizes[name]} for name in BOMBS}


@pytest.mark.parametrize("name", BOMBS)
def test_memory_is_taken_for_what_is_there_only(found, name):
    bomb = found[name]
    assert bomb["exception"] == "SystemExit", bomb
    assert (bomb["exit_code"], len(bomb["message"])) in [(1, 1), (2, 4)], bomb
    assert bomb["megabytes"] <= 40 + 12 * bomb["n_bytes"] / MEGABYTE, bomb
    assert bomb["seconds"] <= 20, bomb
