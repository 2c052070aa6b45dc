"""elmlda data: what there is, and whether it is intact."""

import shutil

import pytest


@pytest.fixture
def own(clouds, tmp_path):
    """A copy of the small data set, to be broken."""
    return shutil.copytree(clouds, tmp_path / "own")


def test_list(elmlda):
    result = elmlda("data", "list")
    assert (result.returncode, result.stderr) == (0, "")
    assert "mnist" in result.stdout
    assert "60,000 + 10,000 × 784, 10 classes" in result.stdout
    assert "LeCun" in result.stdout
    assert "CC BY-SA 3.0" in result.stdout


@pytest.mark.parametrize("arguments", [[], ["--dataset", "mnist"]])
def test_mnist_is_intact(invoke, arguments):
    result = invoke("data", "verify", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [
        ["ok", "train-images"],
        ["ok", "train-labels"],
        ["ok", "t10k-images"],
        ["ok", "t10k-labels"],
    ]
    assert "no checksum" not in result.stdout


def test_own_data_are_intact_as_far_as_one_can_tell(invoke, own):
    result = invoke("data", "verify", "--data-dir", own)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert len(lines) == 4
    assert "600 × 3 × 3" in lines[0]
    assert all(line.startswith("ok ") and "no checksum to compare with" in line for line in lines)


def test_every_broken_file_is_named(invoke, own):
    cut, gone = own / "train-images-idx3-ubyte", own / "t10k-labels-idx1-ubyte"
    cut.write_bytes(cut.read_bytes()[:1000])
    gone.unlink()
    result = invoke("data", "verify", "--data-dir", own)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["BAD", "train-images"],
        ["ok", "train-labels"],
        ["ok", "t10k-images"],
        ["BAD", "t10k-labels"],
    ]
    assert (
        f"{cut}: 1,000 bytes, expected 5,416 for 600 × 3 × 3 images: the file is cut off." in lines[0]
    )
    assert "no t10k-labels" in lines[3]
    assert result.stderr == "Error: 2 of 4 checks failed: see above.\n"


def test_files_that_do_not_belong_together(invoke, own):
    shutil.copy(own / "t10k-labels-idx1-ubyte", own / "train-labels-idx1-ubyte")
    result = invoke("data", "verify", "--data-dir", own)
    assert result.exit_code == 1
    assert "has 600 samples" in result.stdout.splitlines()[-1]
    assert result.stderr == "Error: 1 of 5 checks failed: see above.\n"


def test_verify_as_a_process(elmlda, own):
    (own / "t10k-labels-idx1-ubyte").write_bytes(b"\0\0\x08\x01")
    result = elmlda("data", "verify", "--data-dir", own)
    assert result.returncode == 1
    assert "cut off" in result.stdout
    assert result.stderr == "Error: 1 of 4 checks failed: see above.\n"


def test_no_such_folder(refusal):
    assert refusal("data", "verify", "--data-dir", "nowhere") == (
        "nowhere: No such file or directory, expected a folder of four IDX files."
    )


def test_no_such_data_set(refusal):
    assert "unknown data set 'cifar'" in refusal("data", "verify", "--dataset", "cifar")


@pytest.mark.parametrize("arguments", [["verfy"], ["verify", "extra"], ["verify", "--nope"]])
def test_wrong_usage(refusal, arguments):
    refusal("data", *arguments, exit_code=2)
