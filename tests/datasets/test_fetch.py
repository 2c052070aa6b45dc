"""Sets that are fetched: from mirrors on this machine, from folders, and without any network."""

import gzip
import hashlib
import shutil
import socket
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from idx_files import idx_bytes
from refusals import refusal_of

from elmlda.datasets.catalogue import CATALOGUE, fetch_dataset, load_dataset

KMNIST = CATALOGUE["kmnist"]
PIXELS = np.arange(30 * 4).reshape(30, 2, 2)
CONTENT = {
    "train-images": idx_bytes(PIXELS[:20]),
    "train-labels": idx_bytes(np.arange(20) % 10),
    "t10k-images": idx_bytes(PIXELS[20:]),
    "t10k-labels": idx_bytes(np.arange(10)),
}
NAMES = {part: f"{part}-idx{3 if 'images' in part else 1}-ubyte.gz" for part in CONTENT}
FILES = {NAMES[part]: gzip.compress(content, mtime=1) for part, content in CONTENT.items()}


class Mirror(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def log_message(self, *arguments):
        pass


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """A mirror with these files: its address, and the folder that it serves."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    servers = []

    def start(files):
        folder = tmp_path / f"mirror{len(servers)}"
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Mirror, directory=folder))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_address[1]}/", folder

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def away():
    """The address of a mirror that nobody answers at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/"


@pytest.fixture(params=["content known", "only the file known"])
def make(request, tmp_path, monkeypatch):
    """A set with these mirrors in the catalogue, as `tiny`."""
    monkeypatch.setenv("ELMLDA_DATA", str(tmp_path / "data"))

    def make(*mirrors):
        sums = {}
        for part, content in CONTENT.items():
            both = [hashlib.sha256(each).hexdigest() for each in (FILES[NAMES[part]], content)]
            sums[part] = both[: 2 if request.param == "content known" else 1]
        tiny = replace(KMNIST, name="tiny", mirrors=mirrors, files=sums)
        monkeypatch.setitem(CATALOGUE, "tiny", tiny)
        return tiny

    return make


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_fetched_then_loaded(make, serve):
    address, served = serve(FILES)
    tiny = make(address)
    assert not tiny.is_here
    assert fetch_dataset("tiny") == [f"{name}: here, from {address}" for name in NAMES.values()]
    assert tiny.is_here
    assert names_in(tiny.where) == sorted(NAMES.values())
    data = load_dataset("tiny")
    np.testing.assert_array_equal(data.train.inputs, PIXELS[:20].reshape(20, 4))
    assert (data.name, data.classes) == ("tiny", tuple(KMNIST.classes))
    shutil.rmtree(served)
    fetch_dataset("tiny")  # what is here and whole is not asked for again


def test_mirrors_are_tried_in_turn(make, serve, away):
    empty, _ = serve({})
    changed, _ = serve({name: content + b"x" for name, content in FILES.items()})
    (good, _), (later, _) = serve(FILES), serve(FILES)
    tiny = make(away, empty, changed, good, later)
    assert all(line.endswith(good) for line in fetch_dataset("tiny"))
    assert names_in(tiny.where) == sorted(NAMES.values())  # no trace of what was not the original


def test_a_broken_file_is_fetched_again(make, serve):
    tiny = make(serve(FILES)[0])
    fetch_dataset("tiny")
    path = tiny.where / NAMES["t10k-labels"]
    path.write_bytes(gzip.compress(b"other"))
    assert f"{path}: SHA-256 " in refusal_of(load_dataset, "tiny")
    fetch_dataset("tiny")
    assert load_dataset("tiny").n_classes == 10


def test_no_mirror_has_it(make, serve, away):
    empty, _ = serve({})
    changed, _ = serve(dict.fromkeys(FILES, b"x"))
    tiny = make(away, empty, changed)
    message = refusal_of(fetch_dataset, "tiny")
    assert message.startswith(f"tiny: {NAMES['train-images']} could not be fetched ({away}: ")
    assert "404" in message
    assert message.endswith(f"if you have the files, copy them to {tiny.where}.")
    assert not tiny.where.exists() or names_in(tiny.where) == []
    assert refusal_of(load_dataset, "tiny") == (
        f"tiny is not here yet (looked in {tiny.where}). Fetch it first: elmlda data fetch tiny"
    )


def test_files_that_are_copied_there_are_taken(make, away):
    tiny = make(away)
    tiny.where.mkdir(parents=True)
    for name, content in FILES.items():
        (tiny.where / name).write_bytes(content)
    assert load_dataset("tiny").n_inputs == 4
    fetch_dataset("tiny")  # without asking the mirror


def test_a_folder_that_cannot_be_written(make, tmp_path, away):
    make(away)
    (tmp_path / "data").write_text("a file")
    assert refusal_of(fetch_dataset, "tiny").endswith("Set ELMLDA_DATA to a folder that can.")


def test_what_is_embedded_is_not_fetched():
    assert refusal_of(fetch_dataset, "mnist") == "mnist is part of elmlda: there is nothing to fetch."
