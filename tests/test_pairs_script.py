"""Pairs of networks: against fractions, all images, and really leaving out."""

from fractions import Fraction
from pathlib import Path
from runpy import run_path

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax

from elmlda.errors import ElmldaError

PAIRS = run_path(str(Path(__file__).parents[1] / "scripts/pairs"))
RNG = np.random.default_rng


def test_pairs_are_combined_as_if_numbers_had_all_their_digits():
    """Posteriors such as 1 - 1e-30, in fractions: float64 would make them tie."""
    rng, labels = RNG(3), np.zeros(60, int)
    scores = rng.normal(size=(4, 60, 3)) * 40
    scores[1, :30] = np.roll(scores[0, :30], 1, axis=-1) + rng.normal(size=(30, 3))
    logs = log_softmax(scores, axis=-1).astype(np.float32)

    def exact(log_row):
        rest = [Fraction(float(value)) for value in np.exp(log_row.astype(np.float64))]
        top = int(log_row.argmax())
        rest[top] = 1 - sum(value for i, value in enumerate(rest) if i != top)
        return rest

    expected = [
        sum(
            max(
                range(3),
                key=[
                    a + b for a, b in zip(exact(logs[i, k]), exact(logs[j, k]), strict=True)
                ].__getitem__,
            )
            != 0
            for k in range(60)
        )
        for i in range(4)
        for j in range(i + 1, 4)
    ]
    assert np.concatenate(list(PAIRS["count_pairs"](logs, labels))).tolist() == expected
    float64 = np.exp(logs.astype(np.float64))
    assert ((float64[0] + float64[1]).argmax(axis=1) != 0).sum() != expected[
        0
    ]  # or the test shows nothing


def test_images_that_are_left_out_are_right_in_every_pair():
    rng = RNG(4)
    labels = rng.integers(3, size=400)
    scores = rng.normal(size=(5, 400, 3))
    scores[:, np.arange(400), labels] += 4
    logs = log_softmax(scores, axis=-1).astype(np.float32)
    images = PAIRS["choose_images"](dict(enumerate(np.exp(logs))), labels)
    assert 0 < len(images) < 400
    count = PAIRS["count_pairs"]
    whole, part = (
        np.concatenate(list(count(logs[:, rows], labels[rows]))) for rows in (slice(None), images)
    )
    assert np.array_equal(whole, part)


def test_the_jackknife_leaves_out_networks():
    values = RNG(5).integers(180, 200, (6, 6))
    first, second = np.triu_indices(6, 1)
    pairs = pd.DataFrame({"first": first, "second": second, "errors": values[first, second]})
    found = PAIRS["jackknife_pairs"](pairs, "errors", 10_000)
    without = [pairs[(first != k) & (second != k)]["errors"].mean() / 100 for k in range(6)]
    assert found.value == pytest.approx(pairs["errors"].mean() / 100)
    assert found.se == pytest.approx(np.sqrt(5 / 6 * np.sum((without - np.mean(without)) ** 2)))
    assert found.n == 6


def test_a_network_is_kept_beside_the_others(tmp_path, monkeypatch):
    labels, images = np.arange(6) % 3, np.array([1, 4])
    right = np.log(np.eye(3)[labels] + 0.1).astype(np.float32)
    monkeypatch.setitem(PAIRS["keep_images"].__globals__, "FOLDER", tmp_path)
    for network in (3, 39, 40):
        PAIRS["keep_images"](network, right + np.float32(network), labels, images)
    paths = sorted((tmp_path / "kept").iterdir())
    assert [path.name for path in paths] == ["0-39.npz", "40-79.npz"]
    kept = PAIRS["read_networks"](paths)
    assert set(kept) == {"3", "39", "40"}
    assert np.array_equal(kept["39"], (right + np.float32(39))[images])
    right[0] = right[0, ::-1]
    with pytest.raises(ElmldaError, match="network 5"):
        PAIRS["keep_images"](5, right, labels, images)
