"""train and predict: a model in a file, and what it says of new samples."""

import csv
import shutil
import subprocess

import numpy as np
import pytest
from command_line import ELMLDA, invoke_here
from PIL import Image, ImageDraw

TRAIN = "train --dataset blobs.csv --label kind --hidden 10"


@pytest.fixture
def model(succeed, blobs):
    """blobs-model.npz."""
    succeed(TRAIN)


def test_train_says_what_it_has_made(succeed, blobs, tmp_path):
    shown = succeed(TRAIN)
    assert "LDA-ELM, 10 hidden units" in shown
    assert " of 20)" in shown
    assert "elmlda predict blobs-model.npz" in shown
    assert (tmp_path / "blobs-model.npz").exists()


def test_training_on_all_samples(succeed, blobs):
    assert "all 60 samples" in succeed(f"{TRAIN} --no-test")


def test_an_ensemble(succeed, blobs):
    assert "3 × LDA-ELM" in succeed(f"{TRAIN} --n 3")
    assert len(succeed("predict blobs-model.npz blobs.csv").splitlines()) == 61


def test_the_pseudo_inverse_has_scores(succeed, blobs):
    assert "PI-ELM" in succeed(f"{TRAIN} --output pi")
    shown = succeed("predict blobs-model.npz blobs.csv")
    assert "score" in shown
    assert "posterior" not in shown


def test_a_file_that_is_there_stays(refusal, succeed, model, tmp_path):
    before = (tmp_path / "blobs-model.npz").read_bytes()
    assert "--force" in refusal(f"{TRAIN} --seed 1")
    assert (tmp_path / "blobs-model.npz").read_bytes() == before
    assert succeed(f"{TRAIN} --seed 1 --force --quiet") == ""
    assert (tmp_path / "blobs-model.npz").read_bytes() != before


@pytest.mark.parametrize("out", [".", "blobs.csv", "nosuch/model.npz"])
def test_where_no_model_can_be(refusal, blobs, out):
    message = refusal(f"{TRAIN} --force --out {out}")
    assert out.partition("/")[0] in message


def test_no_solution_without_a_ridge(refusal, blobs):
    assert "--ridge" in refusal("train --dataset blobs.csv --label kind --hidden 100 --ridge 0")


def test_a_line_for_each_sample(succeed, model, blobs):
    *lines, summary = succeed("predict blobs-model.npz blobs.csv").splitlines()
    assert len(lines) == 60
    assert all(line.startswith(f"blobs.csv:{i}  ") for i, line in enumerate(lines, 2))
    right = [f"  {kind}  posterior" in line for kind, line in zip(blobs["kind"], lines, strict=True)]
    assert np.mean(right) > 0.9
    assert summary.startswith(f"Errors: {60 - sum(right)} of 60 (")


def test_csv_has_every_posterior(succeed, model, blobs):
    rows = list(csv.DictReader(succeed("predict blobs-model.npz blobs.csv --csv").splitlines()))
    assert list(rows[0]) == ["file", "line", "label", "true", "posterior_a", "posterior_b"]
    assert [int(row["line"]) for row in rows] == list(range(2, 62))
    for row in rows:
        a, b = float(row["posterior_a"]), float(row["posterior_b"])
        assert a + b == pytest.approx(1, abs=1e-5)
        assert row["label"] == ("a" if a > b else "b")
    assert np.mean([row["label"] for row in rows] == blobs["kind"]) > 0.9


def test_several_files_have_one_header(succeed, model, blobs, tmp_path):
    blobs.head(3).to_csv(tmp_path / "few.csv", index=False)
    lines = succeed("predict blobs-model.npz few.csv blobs.csv --csv").splitlines()
    assert len(lines) == 1 + 3 + 60


@pytest.mark.parametrize("as_csv", [False, True])
def test_errors_are_counted_where_the_table_has_labels(model, blobs, tmp_path, as_csv):
    labels = [*["a"] * 10, "emu", ""]
    blobs.head(12).assign(kind=labels).to_csv(tmp_path / "new.csv", index=False)
    result = invoke_here("predict", "blobs-model.npz", "new.csv", *(["--csv"] if as_csv else []))
    assert result.exit_code == 0
    summary = (result.stderr if as_csv else result.stdout).splitlines()[-1]
    assert summary.startswith("Errors: 5 of 10 (50.00 %); 2 ")
    if as_csv:
        rows = list(csv.DictReader(result.stdout.splitlines()))
        assert [row["true"] for row in rows] == ["a"] * 10 + ["", ""]
    else:
        assert result.stdout.count("wrong: it is a") == 5


def test_without_labels_no_errors_are_counted(succeed, model, blobs, tmp_path):
    blobs.drop(columns="kind").to_csv(tmp_path / "new.csv", index=False)
    assert "Errors" not in succeed("predict blobs-model.npz new.csv")


def test_samples_are_counted_as_the_header_says(succeed, model, blobs, tmp_path):
    (tmp_path / "new.csv").write_text("\nwidth,height\n1,2\n\n3,4\n")
    np.save(tmp_path / "new.npy", blobs[["width", "height"]].head(2))
    for files, header, numbers in [
        ("new.csv", "line", ["3", "5"]),
        ("new.npy", "index", ["0", "1"]),
        ("new.csv new.npy", "index_or_line", ["3", "5", "0", "1"]),
    ]:
        shown = succeed(f"predict blobs-model.npz {files} --csv").splitlines()
        assert [row[header] for row in csv.DictReader(shown)] == numbers
    assert succeed("predict blobs-model.npz new.csv").startswith("new.csv:3  ")
    assert succeed("predict blobs-model.npz new.npy").startswith("new.npy[0]  ")


def test_a_bad_file_does_not_stop_the_others(model, blobs, tmp_path):
    (tmp_path / "bad.csv").write_text("width,height\n1,x\n")
    result = invoke_here("predict", "blobs-model.npz", "nosuch.csv", "blobs.csv", "bad.csv")
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 61
    assert "nosuch.csv" in result.stderr
    assert "bad.csv" in result.stderr
    assert "2 of 3 files" in result.stderr


@pytest.mark.parametrize("content", [b"", b"no model", b"PK\x03\x04broken"])
def test_a_file_that_is_no_model(refusal, blobs, tmp_path, content):
    (tmp_path / "model.npz").write_bytes(content)
    assert "model.npz" in refusal("predict model.npz blobs.csv")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("new.csv", b""),
        ("new.csv", b"width\n1\n"),
        ("new.csv", b"width,height\n1,inf\n"),
        ("new.csv", b"\xff\xfe\xff"),
        ("new.npy", b"no array"),
        ("new.npz", b"no archive"),
        ("new.png", b"no image"),
        ("new.txt", b"what is this"),
        ("new-idx3-ubyte", b"\0\0\x08\x03\0\0"),
    ],
)
def test_samples_that_cannot_be_read(refusal, model, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert name in refusal(f"predict blobs-model.npz {name}")


def test_arrays(succeed, refusal, model, blobs, tmp_path):
    inputs = blobs[["width", "height"]].to_numpy()
    np.save(tmp_path / "new.npy", inputs)
    np.savez(tmp_path / "new.npz", x=inputs, y=blobs["kind"].to_numpy(str))
    assert len(succeed("predict blobs-model.npz new.npy").splitlines()) == 60
    shown = succeed("predict blobs-model.npz new.npz").splitlines()
    assert shown[-1] == succeed("predict blobs-model.npz blobs.csv").splitlines()[-1]
    np.savez(tmp_path / "new.npz", one=inputs, other=inputs[:5])
    assert "new.npz" in refusal("predict blobs-model.npz new.npz")


@pytest.fixture(scope="module")
def digit_model(tmp_path_factory):
    """A small model of MNIST's digits."""
    path = tmp_path_factory.mktemp("digits") / "model.npz"
    words = [ELMLDA, "train", "--hidden", "300", "--quiet", "--out", str(path)]
    subprocess.run(words, check=True, timeout=300)
    return path


@pytest.mark.parametrize(
    ("digit", "stroke"),
    [(1, [120, 40, 120, 200]), (7, [60, 44, 176, 44, 100, 204])],
)
@pytest.mark.parametrize(("ink", "paper"), [("black", "white"), ("white", "black")])
def test_an_image_of_one_digit(succeed, digit_model, tmp_path, digit, stroke, ink, paper):
    image = Image.new("L", (240, 240), paper)
    ImageDraw.Draw(image).line(stroke, fill=ink, width=16)
    image.save(tmp_path / f"{digit}-anna.png")
    assert succeed(f"predict {digit_model} {digit}-anna.png").startswith(f"{digit}-anna.png  {digit}  ")


def test_an_image_without_a_digit(refusal, digit_model, tmp_path):
    Image.new("L", (240, 240), "white").save(tmp_path / "empty.png")
    assert "empty.png" in refusal(f"predict {digit_model} empty.png")


def test_a_model_may_be_moved(succeed, model, blobs, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    shutil.move(tmp_path / "blobs-model.npz", tmp_path / "elsewhere/my model.npz")
    assert "Errors: " in succeed("predict", "elsewhere/my model.npz", "blobs.csv")
