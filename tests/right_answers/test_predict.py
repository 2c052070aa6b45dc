"""What predict says of new samples, however many there are, and how its errors are counted."""

import numpy as np
import pytest


@pytest.fixture
def digits(tmp_path):
    """Small images as bytes in digits.npz, 3 × 3 pixels of two classes, and a way to write more."""
    rng = np.random.default_rng(0)

    def draw(n_images):
        labels = np.arange(n_images) % 2
        images = rng.integers(0, 128, (n_images, 3, 3)) + 127 * (np.eye(3)[labels] > 0)[:, None]
        return images.astype(np.uint8), labels

    x, y = draw(200)
    np.savez(tmp_path / "digits.npz", x=x, y=y)
    return draw


@pytest.mark.parametrize("order", [1, -1])
def test_a_faint_image_is_classified_wherever_it_stands(succeed, digits, tmp_path, order):
    succeed("train", "--dataset", "digits.npz", "--hidden", 10, "--out", "model.npz")
    images, _ = digits(4001)
    images[-1] //= 16
    np.save(tmp_path / "new.npy", images[::order])
    assert len(succeed("predict", "model.npz", "new.npy").splitlines()) == 4001


def test_pixels_of_another_scale_are_still_refused(succeed, refusal, digits, tmp_path):
    succeed("train", "--dataset", "digits.npz", "--hidden", 10, "--out", "model.npz")
    np.save(tmp_path / "new.npy", digits(20)[0] / 255)
    assert "new.npy" in refusal("predict", "model.npz", "new.npy")


@pytest.fixture
def labelled(succeed, blobs, tmp_path):
    """`predict` of blobs.csv with labels from a table of rows."""
    blobs().to_csv(tmp_path / "blobs.csv", index=False)
    train = "train --dataset blobs.csv --label kind --hidden 10 --out model.npz"
    succeed(*train.split())

    def write(rows):
        (tmp_path / "labels.csv").write_text("\n".join(["file,sample,label", *rows, ""]))
        return "predict", "model.npz", "blobs.csv", "--labels", "labels.csv"

    return write


@pytest.mark.parametrize("other", ["blobs.csv,0,b", "./blobs.csv,0,b"])
def test_two_labels_for_one_sample_are_refused(refusal, labelled, other):
    message = refusal(*labelled(["blobs.csv,0,a", "blobs.csv,1,b", other]))
    assert "labels.csv" in message
    assert "blobs.csv" in message


def test_the_same_label_twice_is_one(succeed, labelled):
    printed = succeed(*labelled(["blobs.csv,0,a", "blobs.csv,0,a", "blobs.csv,1,b"]))
    assert " of 2 " in printed.splitlines()[-1]
