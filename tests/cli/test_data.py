"""data: what sets there are, what is in one's own file, and whether files are the originals."""

import pytest

from elmlda.datasets.catalogue import CATALOGUE


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
    assert "--missing" in refusal("sweep --hidden 4 --dataset blobs.csv --label kind")
    for way, n_left in (("mean", 60), ("drop", 59)):
        shown = succeed(f"data info blobs.csv --label kind --missing {way}")
        train, test = next(line.split()[1:] for line in shown.splitlines() if line.split()[0] == "all")
        assert int(train) + int(test) == n_left
        assert ("1 in width" in shown) == (way == "mean")
    options = "--dataset blobs.csv --label kind --missing mean --validation 9 --hidden 2 --repeats 1"
    assert "1 in width" in succeed(f"sweep {options} --dry-run")


@pytest.fixture
def flawed(tmp_path):
    """A file with gaps, an odd cell, and columns that are no inputs."""
    (tmp_path / "flawed.csv").write_text(
        ",size,fur,age,note,kind\n"
        "1,1.5,yes,3,a1,cat\n"
        "2,2,no,,b,cow\n"
        "3,-0.5,yes,5kg,c,cat\n"
        "4,,some,6,d,cow\n"
        "5,1,some,7,,cow\n"
        "6,2,no,5.5,f,\n"
    )


def find_line(shown, *words):
    """The only line that has all these words."""
    (line,) = [line for line in shown.splitlines() if all(word in line for word in words)]
    return line


def test_gaps_kinds_and_ranges_of_all_columns_are_listed(succeed, flawed):
    shown = succeed("data info flawed.csv --label kind --drop note")
    assert find_line(shown, "samples", "6, some with missing values: use --missing drop")
    assert find_line(shown, "size", "numbers", "-0.5 to 2").split()[2] == "1"
    assert find_line(shown, "fur", "words", "no, some and yes").split()[2] == "0"
    assert find_line(shown, "age", "unclear").split()[2:] == ["1"]
    assert find_line(shown, "note", "left out")
    assert find_line(shown, "Unnamed: 0", "left out")
    assert find_line(shown, "kind", "class", "cat and cow").split()[2] == "1"


def test_every_problem_comes_with_advice(succeed, flawed):
    shown = succeed("data info flawed.csv --label kind --drop note")
    assert "--drop age" in find_line(shown, "to do", "line 4", "'5kg'", "'age'")
    assert "--missing drop" in find_line(shown, "to do", "line 7", "'kind'")
    assert "--label" in find_line(succeed("data info flawed.csv"), "to do", "which column")
    shown = succeed("data info flawed.csv --label kind --drop note --drop age --missing drop")
    assert "to do" not in shown
    assert find_line(shown, "all").split() == ["all", "2", "2"]


def test_whether_the_first_line_is_names_or_a_sample_is_said(succeed, refusal, blobs, tmp_path):
    lines = (tmp_path / "blobs.csv").read_text().splitlines()
    assert "names" in find_line(succeed("data info blobs.csv --label kind"), "first line")
    (tmp_path / "bare.csv").write_text("\n".join(lines[1:]))
    shown = succeed("data info bare.csv --label 3")
    assert "a sample" in find_line(shown, "first line")
    assert find_line(shown, "all").split() == ["all", "40", "20"]
    (tmp_path / "unclear.csv").write_text("1,2,3\n4,5,6\n")
    assert "--header or --no-header" in refusal("data info unclear.csv --label 3")


def test_control_characters_are_not_sent_to_the_terminal(succeed, blobs, tmp_path):
    blobs.replace({"a": "\x1b[31mred"}).to_csv(tmp_path / "blobs.csv", index=False)
    shown = succeed("data info blobs.csv --label kind")
    assert "\x1b" not in shown
    assert r"\x1b[31mred" in shown


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


@pytest.mark.parametrize("content", ["a,kind\n1,x\n", "a,kind\nnan,x\n2,y\n"])
def test_a_file_that_cannot_be_used_is_described_and_refused(succeed, refusal, tmp_path, content):
    (tmp_path / "mine.csv").write_text(content)
    assert find_line(succeed("data info mine.csv --label kind"), "to do")
    assert "mine.csv" in refusal("sweep --hidden 2 --dataset mine.csv --label kind")
