"""Sets that are fetched: from mirrors on this machine, from folders, and without any network."""

import errno
import gzip
import hashlib
import shutil
import socket
import threading
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from command_line import invoke_here
from idx_files import idx_bytes

from elmlda.datasets import catalogue, load_dataset, verify_dataset
from elmlda.datasets.idx import PARTS
from elmlda.datasets.known_sets import name_file
from elmlda.errors import ElmldaError

FASHION_MNIST, KMNIST = (catalogue.CATALOGUE[name] for name in ("fashion-mnist", "kmnist"))
NAMES = {part: name_file(part) for part in PARTS}


PIXELS = np.arange(30 * 4).reshape(30, 2, 2)
CONTENT = {
    "train-images": idx_bytes(PIXELS[:20]),
    "train-labels": idx_bytes(np.arange(20) % 10),
    "t10k-images": idx_bytes(PIXELS[20:]),
    "t10k-labels": idx_bytes(np.arange(10)),
}
PACKED = {part: gzip.compress(content, mtime=1) for part, content in CONTENT.items()}


def hash_each(contents):
    return {part: hashlib.sha256(content).hexdigest() for part, content in contents.items()}


class Mirror(BaseHTTPRequestHandler):
    """Serves `files`, or what is wrong with it."""

    def __init__(self, files, asked, *arguments):
        self.files, self.asked = files, asked
        super().__init__(*arguments)

    def do_GET(self):
        self.asked.append(self.path)
        content = self.files.get(self.path.lstrip("/"))
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content) * (2 if b"cut" in content else 1)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def serve(monkeypatch):
    """A mirror with these files: its address, and what it was asked for."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    servers = []

    def start(files):
        asked = []
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Mirror, files, asked))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_address[1]}/", asked

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def away(serve):
    """The address of a mirror that nobody answers at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/"


@pytest.fixture
def good(serve):
    return serve({NAMES[part]: content for part, content in PACKED.items()})


@pytest.fixture(params=["content known", "only the file known"])
def make(request, tmp_path, monkeypatch):
    """A set with these mirrors in the catalogue, as `tiny`."""
    monkeypatch.setenv("ELMLDA_DATA", str(tmp_path / "data"))

    def make(*mirrors):
        tiny = replace(
            KMNIST,
            known=replace(KMNIST.known, name="tiny"),
            mirrors=mirrors,
            packed_sha256=hash_each(PACKED),
            content_sha256=hash_each(CONTENT) if request.param == "content known" else {},
        )
        monkeypatch.setitem(catalogue.CATALOGUE, "tiny", tiny)
        return tiny

    return make


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# From mirrors


def test_fetched_then_loaded(make, good):
    address, asked = good
    tiny = make(address)
    assert not tiny.info.is_here
    lines = tiny.fetch()
    assert lines == [f"{name}: fetched from {address}" for name in NAMES.values()]
    assert names_in(tiny.folder) == sorted(NAMES.values())
    assert tiny.info.is_here
    assert tiny.info.where == tiny.folder
    dataset = load_dataset("tiny")
    np.testing.assert_array_equal(dataset.train.inputs, PIXELS[:20].reshape(20, 4))
    assert dataset.classes == KMNIST.known.classes
    assert dataset.checksums == hash_each(CONTENT)
    assert all(check.ok and check.expected_sha256 for check in verify_dataset("tiny"))
    assert len(asked) == 4


def test_what_is_here_is_not_fetched_again(make, good):
    address, asked = good
    tiny = make(address)
    tiny.fetch()
    (tiny.folder / NAMES["t10k-labels"]).unlink()
    asked.clear()
    lines = tiny.fetch()
    assert [line.split(": ")[1] for line in lines[:3]] == ["already here"] * 3
    assert asked == [f"/{NAMES['t10k-labels']}"]


def test_the_next_mirror_is_tried(make, good, serve, away):
    missing, _ = serve({})
    wrong, _ = serve(dict.fromkeys(NAMES.values(), b"something else"))
    cut, _ = serve(dict.fromkeys(NAMES.values(), b"cut off"))
    tiny = make(away, missing, wrong, cut, good[0])
    assert tiny.fetch()[0] == f"{NAMES['train-images']}: fetched from {good[0]}"
    assert names_in(tiny.folder) == sorted(NAMES.values())


def test_every_mirrors_fault_is_told_in_one_line(make, serve, away):
    missing, _ = serve({})
    wrong, _ = serve(dict.fromkeys(NAMES.values(), b"something else"))
    tiny = make(away, missing, wrong)
    result = invoke_here("data", "fetch", "tiny")
    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: tiny: {NAMES['train-images']} could not be fetched ({away}: no connection; "
        f"{missing}: answers 404 Not Found; {wrong}: what it sends does not have the checksum). "
        "Try again later or, if you have the files, name their folder with --from.\n"
    )
    assert names_in(tiny.folder) == []  # no temporary file is left
    assert not tiny.info.is_here


def test_a_mirror_that_does_not_answer(make, monkeypatch, serve):
    monkeypatch.setattr("elmlda.datasets.download.READ_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        tiny = make(f"http://127.0.0.1:{silent.getsockname()[1]}/")
        with pytest.raises(ElmldaError, match=r"no answer in time\)"):
            tiny.fetch()


def test_a_folder_that_cannot_be_written(make, good, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    tiny = make(good[0])
    monkeypatch.setenv("ELMLDA_DATA", str(tmp_path / "file"))
    with pytest.raises(ElmldaError, match=r"cannot be written: .*Set ELMLDA_DATA to a folder that can"):
        tiny.fetch()


def test_the_command(make, good):
    tiny = make(good[0])
    result = invoke_here("data", "fetch", "tiny")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == f"tiny is here: {tiny.folder}"
    assert len(result.stdout.splitlines()) == 5
    assert invoke_here("data", "fetch", "tiny", "--quiet").output == ""
    assert "[not here" not in invoke_here("data", "list").stdout.split("tiny ")[1].splitlines()[0]
    assert invoke_here("data", "verify", "tiny").exit_code == 0


def test_progress_is_told(make, good):
    bars = []

    class Bar:
        total = 1

        def __init__(self, name):
            self.name, self.n = name, 0
            bars.append(self)

        def update(self, n):
            self.n += n

        def reset(self):
            self.n = 0

        def close(self):
            pass

    make(good[0]).fetch(progress=Bar)
    assert [(bar.name, bar.n) for bar in bars] == [(NAMES[p], len(PACKED[p])) for p in PARTS]


# What was fetched, broken


def test_not_here_yet(make):
    tiny = make()
    for call in (load_dataset, verify_dataset):
        with pytest.raises(ElmldaError) as caught:
            call("tiny")
        assert str(caught.value) == (
            f"tiny is not here yet (looked in {tiny.folder}). Fetch it first: elmlda data fetch tiny"
        )


def test_a_file_that_was_changed_later(make, good):
    tiny = make(good[0])
    tiny.fetch()
    path = tiny.folder / NAMES["t10k-labels"]
    path.write_bytes(gzip.compress(idx_bytes(np.arange(10)[::-1])))
    with pytest.raises(
        ElmldaError, match=r"t10k-labels.*: SHA-256 .*, expected .* is not the original"
    ):
        load_dataset("tiny")
    assert [check.ok for check in verify_dataset("tiny")] == [True, True, True, False]
    tiny.fetch()
    assert all(check.ok for check in verify_dataset("tiny"))


# From a folder


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    for part, content in PACKED.items():
        (folder / NAMES[part]).write_bytes(content)
    return folder


def test_copied_from_a_folder(make, source):
    tiny = make()
    result = invoke_here("data", "fetch", "tiny", "--from", source)
    assert result.exit_code == 0, result.output
    assert f"{NAMES['train-images']}: copied from {source / NAMES['train-images']}" in result.stdout
    assert names_in(tiny.folder) == sorted(NAMES.values())
    assert load_dataset("tiny").n_inputs == 4


@pytest.mark.parametrize("make", ["content known"], indirect=True)
@pytest.mark.parametrize("form", ["raw", "another header"])
def test_another_form_of_the_same_content(make, source, form):
    for part, content in CONTENT.items():
        path = source / NAMES[part]
        if form == "raw":
            path.unlink()
            path.with_suffix("").write_bytes(content)
        else:
            path.write_bytes(gzip.compress(content, mtime=99))
    tiny = make()
    tiny.fetch(source)
    assert load_dataset("tiny").n_inputs == 4
    assert all(line.endswith(": already here") for line in tiny.fetch())


def test_a_copy_that_fails_leaves_nothing(make, source, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    tiny = make()
    monkeypatch.setattr(shutil, "copyfileobj", fail)
    result = invoke_here("data", "fetch", "tiny", "--from", source)
    assert result.exit_code == 1
    assert "cannot be written: No space left on device. Set ELMLDA_DATA to a folder" in result.stderr
    assert names_in(tiny.folder) == []


def test_other_content_is_not_copied(make, source):
    (source / NAMES["t10k-labels"]).write_bytes(gzip.compress(idx_bytes(np.arange(10)[::-1])))
    tiny = make()
    with pytest.raises(ElmldaError, match=r"t10k-labels.*: SHA-256 .*: not tiny's t10k-labels\.$"):
        tiny.fetch(source)
    assert names_in(tiny.folder) == []


def test_a_folder_without_them(make, tmp_path):
    make()
    result = invoke_here("data", "fetch", "tiny", "--from", tmp_path / "nowhere")
    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: {tmp_path / 'nowhere'}: No such file or directory, "
        "expected a folder of four IDX files.\n"
    )


@pytest.mark.parametrize("make", ["content known"], indirect=True)
def test_a_copy_by_another_name_is_recognised(make, source):
    make()
    copy = load_dataset(data_dir=source)
    assert (copy.name, copy.classes) == ("tiny", KMNIST.known.classes)
    assert load_dataset("mine", source).name == "mine"
    assert load_dataset(str(source)).name == "tiny"


# The catalogue's own


@pytest.mark.parametrize("remote", [FASHION_MNIST, KMNIST], ids=lambda remote: remote.known.name)
def test_files_and_mirrors_are_well_formed(remote):
    assert list(remote.packed_sha256) == list(PARTS)
    assert set(remote.content_sha256) <= set(PARTS)
    checksums = [*remote.packed_sha256.values(), *remote.content_sha256.values()]
    assert len(set(checksums)) == len(checksums)
    assert all(len(bytes.fromhex(sha256)) == 32 for sha256 in checksums)
    assert len(remote.mirrors) >= 2
    assert all(mirror.endswith("/") for mirror in remote.mirrors)
    assert len(remote.known.classes) == 10
