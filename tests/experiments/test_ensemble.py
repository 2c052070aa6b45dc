"""Ensembles: from what is kept where it can be, and numpy's mean of the posteriors."""

import numpy as np
import pytest
from run_folders import assert_as_before, assert_same_counts, files_in

from elmlda import Ensemble, Sweep, load_dataset
from elmlda.core.evaluate import combine_posteriors
from elmlda.errors import ElmldaError
from elmlda.options import COMBINATIONS
from elmlda.runs.kept import read_kept

DIGITS = {"dataset": "digits", "seed": 2}


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A folder with 24 networks of 30 units, twenty of them packed, and what was kept."""
    folder = tmp_path_factory.mktemp("swept")
    Sweep(**DIGITS, hidden=[15, 30], repeats=24).run(folder)
    return folder, read_kept(folder, "posteriors", range(24))


def test_counts_are_those_of_the_version_before(tmp_path):
    options = {"dataset": "iris", "n": 4, "hidden": 8, "repeats": 3}
    rows = Ensemble(**options, combine=COMBINATIONS).run(tmp_path)
    assert_as_before(rows, "ensemble-iris")


def test_networks_that_a_sweep_has_kept_are_not_trained(swept):
    folder, kept = swept
    ensemble = Ensemble(**DIGITS, hidden=30, n=12, repeats=2, combine=COMBINATIONS)
    before = files_in(folder / "kept")
    assert ensemble.dry_run(folder).n_networks == 0
    rows = ensemble.run(folder)
    assert files_in(folder / "kept") == before
    labels = load_dataset("digits").split().test.labels
    assert len(rows) == 2 * 12 * 5
    for repeat, scheme in ((repeat, scheme) for repeat in range(2) for scheme in COMBINATIONS):
        members = np.stack([kept[12 * repeat + i].astype(float) for i in range(12)])
        combined = combine_posteriors(members, scheme, np.full(10, 0.1))
        own = rows[(rows["repeat"] == repeat) & (rows["combine"] == scheme)].set_index("size")
        assert own.index.tolist() == list(range(1, 13))
        for size in range(1, 13):
            errors = (combined[size - 1].argmax(axis=1) != labels).sum()
            assert own.at[size, "errors"] == errors
            if scheme == "mean":
                mean = members[:size].mean(axis=0)
                assert (mean.argmax(axis=1) != labels).sum() == errors
                loss = -np.log(mean[np.arange(len(labels)), labels]).mean()
                assert own.at[size, "log_loss"] == pytest.approx(loss, rel=1e-3)
    single = rows[rows["size"] == 1]
    assert single.groupby("repeat")["errors"].nunique().eq(1).all(), "one network, however combined"


def test_only_what_is_missing_is_trained(swept, tmp_path):
    _, kept = swept
    Sweep(**DIGITS, hidden=[15, 30], repeats=5).run(tmp_path / "few")
    ensemble = Ensemble(**DIGITS, hidden=30, n=4, repeats=2)
    assert ensemble.dry_run(tmp_path / "few").n_networks == 3
    found = ensemble.run(tmp_path / "few")
    assert_same_counts(found, ensemble.run(tmp_path / "fresh"))
    for network, values in read_kept(tmp_path / "few", "posteriors", range(8)).items():
        np.testing.assert_allclose(values, kept[network], atol=1e-3)


def test_a_damaged_network_is_trained_again(tmp_path):
    Sweep(**DIGITS, hidden=30, repeats=4).run(tmp_path)
    path = tmp_path / "kept" / "2.npz"
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF  # in the posteriors, which are the largest array
    path.write_bytes(damaged)
    ensemble = Ensemble(**DIGITS, hidden=30, n=4, repeats=1)
    assert ensemble.dry_run(tmp_path).n_networks == 1
    assert_same_counts(ensemble.run(tmp_path), ensemble.run(tmp_path / "fresh"))


@pytest.mark.parametrize("n", [3, 20])
def test_networks_of_another_size_are_trained_and_the_sweeps_stay(tmp_path, n):
    Sweep(**DIGITS, hidden=[15, 30], repeats=20).run(tmp_path)
    before = files_in(tmp_path / "kept")
    ensemble = Ensemble(**DIGITS, hidden=15, n=n, repeats=1)
    assert ensemble.dry_run(tmp_path).n_networks == n
    assert_same_counts(ensemble.run(tmp_path), ensemble.run(tmp_path / "fresh"))
    assert files_in(tmp_path / "kept") == before
    assert ensemble.dry_run(tmp_path).n_networks == 0


def test_more_ensembles_and_other_combinations(tmp_path):
    few = Ensemble(**DIGITS, hidden=20, n=3, repeats=1)
    many = Ensemble(**DIGITS, hidden=20, n=3, repeats=3, combine="mean,product")
    first = few.run(tmp_path / "grown")
    assert many.dry_run(tmp_path / "grown").n_networks == 6
    found = many.run(tmp_path / "grown")
    assert_same_counts(found, many.run(tmp_path / "alone"))
    assert_same_counts(few.run(tmp_path / "grown"), first)
    with pytest.raises(ElmldaError, match="n 3"):
        Ensemble(**DIGITS, hidden=20, n=2, repeats=1).run(tmp_path / "grown")
