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


def test_errors_of_predict_on_the_test_part_are_those_of_train(succeed, digits, tmp_path):
    (x, y), (x_test, y_test) = digits(200), digits(50)
    np.savez(tmp_path / "own.npz", x_train=x, y_train=y, x_test=x_test, y_test=y_test)
    shown = succeed("train", "--dataset", "own.npz", "--hidden", 5, "--out", "model.npz")
    found = shown.partition("(")[2].partition(" of 50)")[0]
    said = succeed("predict", "model.npz", "own.npz").splitlines()[-1]
    assert said.startswith(f"Errors: {found} of 50 ")
