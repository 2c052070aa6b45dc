"""What a shell script sees: the exit code of the installed command."""

import pytest


@pytest.fixture
def model(succeed, blobs, tmp_path):
    blobs().to_csv(tmp_path / "blobs.csv", index=False)
    train = "train --dataset blobs.csv --label kind --hidden 10 --out model.npz"
    succeed(*train.split())
    return tmp_path / "model.npz"


def test_a_file_that_cannot_be_classified_is_a_failure(model, elmlda):
    done = elmlda("predict", model, "nosuch.csv")
    assert done.returncode == 1
    assert "nosuch.csv" in done.stderr


def test_one_bad_file_among_good_ones_is_a_failure(model, elmlda):
    done = elmlda("predict", model, "nosuch.csv", "blobs.csv")
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 60


@pytest.mark.parametrize(
    ("arguments", "exit_code"), [(["--version"], 0), (["sweep", "--help"], 0), (["sweep", "--no"], 2)]
)
def test_help_and_usage(elmlda, arguments, exit_code):
    assert elmlda(*arguments).returncode == exit_code
