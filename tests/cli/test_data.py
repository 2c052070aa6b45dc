"""data: what sets there are, what is in one's own file, and whether files are the originals."""

import pytest

from elmlda.datasets import CATALOGUE


def test_all_sets_are_listed(succeed):
    shown = succeed("data list")
    for info in CATALOGUE.values():
        (line,) = [line for line in shown.splitlines() if line.startswith(f"{info.name} ")]
        assert f"{len(info.classes)} classes" in line
        assert ("data fetch" in line) == (not info.is_here)


def test_a_set_of_the_catalogue(succeed):
    shown = succeed("data info iris")
    for fact in ("Fisher", "CC BY 4.0", "setosa", "petal width", "iris.csv"):
        assert fact in shown


def test_a_set_that_is_not_here(succeed):
    assert "elmlda data fetch kmnist" in succeed("data info kmnist")


def test_ones_own_file(succeed, blobs):
    shown = succeed("data info blobs.csv --label kind")
    lines = [line.split() for line in shown.splitlines()]
    assert ["a", "20", "10"] in lines
    assert ["all", "40", "20"] in lines
    assert "width and height" in shown


def test_missing_values(succeed, refusal, blobs, tmp_path):
    blobs.loc[0, "width"] = None
    blobs.to_csv(tmp_path / "blobs.csv", index=False)
    assert "--missing" in refusal("data info blobs.csv --label kind")
    for way, n_left in (("mean", 60), ("drop", 59)):
        shown = succeed(f"data info blobs.csv --label kind --missing {way}")
        train, test = next(line.split()[1:] for line in shown.splitlines() if line.split()[0] == "all")
        assert int(train) + int(test) == n_left


def test_control_characters_are_not_sent_to_the_terminal(succeed, blobs, tmp_path):
    blobs.replace({"a": "\x1b[31mred"}).to_csv(tmp_path / "blobs.csv", index=False)
    shown = succeed("data info blobs.csv --label kind")
    assert "\x1b" not in shown
    assert r"\x1b[31mred" in shown


def test_files_that_are_not_the_originals(refusal, tmp_path, monkeypatch):
    folder = tmp_path / "fetched/kmnist"
    folder.mkdir(parents=True)
    monkeypatch.setenv("ELMLDA_DATA", str(tmp_path / "fetched"))
    for part in ("train", "t10k"):
        for kind in ("images-idx3", "labels-idx1"):
            (folder / f"{part}-{kind}-ubyte").write_bytes(b"changed")
    assert "not the original" in refusal("sweep --dataset kmnist --hidden 4")


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("data info nosuch", "nosuch"),
        ("data info nosuch.csv", "nosuch.csv"),
        ("data fetch iris", "iris"),
        ("data fetch nosuch", "nosuch"),
    ],
)
def test_what_cannot_work_is_one_line(refusal, command, word):
    assert word in refusal(command)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"a,b\n",
        b"a,b\n1,2,3\n",
        b"a,kind\n1,x\n",
        b"a,kind\nnan,x\n2,y\n",
        b"\xff",
        b"\0",
    ],
)
@pytest.mark.parametrize("command", ["data info", "sweep --hidden 2 --dataset", "train --dataset"])
def test_a_file_without_data_is_one_line(refusal, tmp_path, content, command):
    (tmp_path / "mine.csv").write_bytes(content)
    assert "mine.csv" in refusal(f"{command} mine.csv --label kind")
