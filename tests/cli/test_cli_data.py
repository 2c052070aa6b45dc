"""elmlda data: what there is, and whether it is intact."""

import shutil

import numpy as np
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


@pytest.mark.parametrize("arguments", [["mnist"], ["--dataset", "mnist"]])
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


def test_all_that_is_here_is_intact(invoke):
    result = invoke("data", "verify")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [line for line in lines if line.endswith(":")] == [
        "mnist:", "iris:", "abalone:", "wine:", "satimage:", "breast-cancer:", "digits:",
    ]  # fmt: skip
    assert lines[-2:] == [
        "fashion-mnist: not here (elmlda data fetch fashion-mnist)",
        "kmnist: not here (elmlda data fetch kmnist)",
    ]
    assert sum(line.startswith("ok ") for line in lines) == 11


def test_own_data_are_intact_as_far_as_one_can_tell(invoke, own):
    result = invoke("data", "verify", "--data-dir", own)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert len(lines) == 4
    assert "600 × 3 × 3" in lines[0]
    assert all(line.startswith("ok ") and "no checksum to compare with" in line for line in lines)


def test_own_tables_are_intact_if_they_can_be_read(invoke, refusal, tmp_path):
    (tmp_path / "pets.csv").write_text("size,kind\n" + "1,cat\n2,cow\n" * 3)
    x, y = np.zeros((6, 2)), np.arange(6) % 2
    np.savez(tmp_path / "mine.npz", x_train=x, y_train=y, x_test=x[:4], y_test=y[:4])
    output = invoke("data", "verify", "pets.csv", "--label", "kind").stdout
    assert "pets.csv" in output
    assert "6 × 1, 2 classes" in output
    assert refusal("data", "verify", "pets.csv") == (
        "pets.csv: which column has the class: size and kind? Name it with --label."
    )
    assert "6 + 4 × 2, 2 classes" in invoke("data", "verify", "mine.npz").stdout
    (tmp_path / "pets.csv").write_text("size,kind\n1,cat\n2\n")
    result = invoke("data", "verify", "pets.csv", "--label", "kind")
    assert result.exit_code == 1
    assert "pets.csv" in result.output


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


@pytest.mark.parametrize("command", ["verify", "fetch"])
def test_a_misspelt_name_is_wrong_usage(refusal, command):
    message = refusal("data", command, "fashon-mnist", exit_code=2)
    assert message.startswith("Invalid value for NAME: unknown data set 'fashon-mnist'. Did you mean ")


def test_several_names(invoke):
    result = invoke("data", "verify", "iris", "wine")
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["iris:", "ok", "wine:", "ok"]


def test_a_folder_against_the_catalogues_checksums(invoke, own):
    result = invoke("data", "verify", "mnist", "--data-dir", own)
    assert result.exit_code == 1
    assert result.stdout.count("the content is not the original") == 4


def test_a_folder_is_one_data_set(refusal, own):
    refusal("data", "verify", "mnist", "iris", "--data-dir", own, exit_code=2)
    refusal("data", "fetch", "kmnist", "fashion-mnist", "--from", own, exit_code=2)


# info


def test_info_of_a_table(invoke):
    result = invoke("data", "info", "iris")
    assert (result.exit_code, result.stderr) == (0, "")
    for part in (
        "Fisher's iris plants",
        "CC BY 4.0",
        "Annals of Eugenics",
        "4, standardised by the training part",
        "sepal length, sepal width, petal length and petal width",
        "stratified, two thirds to train on and one to test on, seed 0",
        "f13ffa8fdd56fd8e6c8d16d4081a3fbd3114bcd0aae4256c43205169cd9d1449 iris.csv",
    ):
        assert part in result.stdout
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["all", "100", "50"] in rows


def test_info_of_images(invoke):
    output = invoke("data", "info", "mnist").stdout
    assert "784, images of 28 × 28, multiplied by 0.00392157" in output
    assert "its own" in output


def test_info_of_what_is_not_here(invoke):
    result = invoke("data", "info", "kmnist")
    assert result.exit_code == 0
    assert "CC BY-SA 4.0" in result.stdout
    assert "60,000 + 10,000 × 784, 10 classes" in result.stdout
    assert "not here yet: elmlda data fetch kmnist" in result.stdout


def test_info_of_the_users_own_file(invoke, tmp_path):
    (tmp_path / "pets.csv").write_text("size,fur,kind\n" + "1,yes,cat\n2,no,cow\n" * 3)
    output = invoke("data", "info", "pets.csv", "--label", "kind").stdout
    assert "size, fur=no and fur=yes" in output
    assert ["all", "4", "2"] in [line.split() for line in output.splitlines()]


def test_info_of_nothing(refusal):
    assert "unknown data set 'nothing'" in refusal("data", "info", "nothing")
    assert refusal("data", "info", "no.npz") == "no.npz: cannot be read: No such file or directory."


# fetch; tests/datasets/test_remote_sets.py has the rest


def test_what_is_part_of_the_package_is_not_fetched(refusal):
    assert refusal("data", "fetch", "iris") == "iris is part of elmlda: there is nothing to fetch."


@pytest.mark.parametrize("command", ["sweep", "ensemble", "timing"])
def test_no_run_fetches_anything(refusal, command, tmp_path):
    message = refusal(command, "--dataset", "fashion-mnist")
    assert message.startswith("fashion-mnist is not here yet (looked in ")
    assert message.endswith("). Fetch it first: elmlda data fetch fashion-mnist")
    assert list(tmp_path.iterdir()) == []
