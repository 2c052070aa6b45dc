"""Ensembles: from what is kept where it can be, and numpy's mean of the posteriors."""

import shutil
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from run_folders import assert_as_before, assert_same_counts, files_in
from scipy.special import softmax

from elmlda import Ensemble, Sweep, load_dataset, report
from elmlda.errors import ElmldaError
from elmlda.runs.folder import read_rows
from elmlda.runs.kept import list_kept, read_at_size, read_kept
from elmlda.runs.tables import DRAWS

DIGITS = {"dataset": "digits", "seed": 2}


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A folder with 24 networks of 30 units, twenty of them packed, and what was kept."""
    folder = tmp_path_factory.mktemp("swept")
    Sweep(**DIGITS, hidden=[15, 30], repeats=24).run(folder)
    return folder, read_kept(folder, "log_posteriors", range(24))


def test_counts_are_those_of_the_version_before(tmp_path):
    rows = Ensemble(dataset="iris", n=4, hidden=8, repeats=3).run(tmp_path)
    assert_as_before(rows, "ensemble-iris")


def test_networks_that_a_sweep_has_kept_are_not_trained(swept):
    folder, kept = swept
    ensemble = Ensemble(**DIGITS, hidden=30, n=12, repeats=2)
    before = files_in(folder / "kept")
    assert ensemble.dry_run(folder).n_networks == 0
    rows = ensemble.run(folder)
    assert files_in(folder / "kept") == before
    labels = load_dataset("digits").split().test.labels
    for repeat in range(2):
        members = np.exp([kept[12 * repeat + i].astype(float) for i in range(12)])
        own = rows[rows["repeat"] == repeat].set_index("size")
        assert own.index.tolist() == list(range(1, 13))
        for size in range(1, 13):
            mean = members[:size].mean(axis=0)
            assert own.at[size, "errors"] == (mean.argmax(axis=1) != labels).sum()
            loss = -np.log(mean[np.arange(len(labels)), labels]).mean()
            assert own.at[size, "log_loss"] == pytest.approx(loss, rel=1e-5)


def test_one_network_has_the_sweeps_measures(tmp_path):
    """Also a network that is sure and wrong: float32 keeps the logarithm of a posterior near 0."""
    options = {**DIGITS, "hidden": 900}
    swept = Sweep(**options, repeats=2).run(tmp_path)
    assert min(values.min() for values in read_kept(tmp_path, "log_posteriors", [0]).values()) < -30
    combined = Ensemble(**options, n=1, repeats=2).run(tmp_path)
    assert combined["errors"].tolist() == swept["lda_errors"].tolist()
    for name in ("log_loss", "brier"):
        assert combined[name].to_numpy() == pytest.approx(swept[name].to_numpy(), rel=1e-5)


def test_posteriors_that_an_earlier_version_rounded_are_read_with_a_warning(tmp_path):
    options = {**DIGITS, "hidden": 30}
    Sweep(**options, repeats=2).run(tmp_path)
    for number in (0, 1):
        path = tmp_path / f"kept/{number}.npz"
        kept = dict(np.load(path))
        kept["posteriors"] = np.exp(kept.pop("log_posteriors")).astype(np.float16)
        np.savez(path, **kept)
    ensemble = Ensemble(**options, n=2, repeats=1)
    assert ensemble.dry_run(tmp_path).n_networks == 0
    with pytest.warns(UserWarning, match="2 kept networks .* float16"):
        rounded = ensemble.run(tmp_path)
    exact = ensemble.run(tmp_path / "exact")
    assert (rounded["errors"] - exact["errors"]).abs().max() <= 1
    assert rounded["brier"].to_numpy() == pytest.approx(exact["brier"].to_numpy(), rel=1e-2)
    tempered = Ensemble(**options, n=2, repeats=1, temperature="loo")
    with pytest.raises(ElmldaError, match="temperature"):
        tempered.run(tmp_path)


def test_tempered_posteriors_are_combined_beside_the_papers(tmp_path):
    """A sweep with the temperature has kept all that is needed; one without has to be trained again."""
    options = {**DIGITS, "hidden": 40}
    Sweep(**options, repeats=4, temperature="loo").run(tmp_path / "run")
    ensemble = Ensemble(**options, n=4, repeats=1, temperature="loo")
    assert ensemble.dry_run(tmp_path / "run").n_networks == 0
    rows = ensemble.run(tmp_path / "run").set_index("size")
    logs, taus = (
        read_kept(tmp_path / "run", n, range(4)) for n in ("log_posteriors", "loo_temperature")
    )
    labels = load_dataset("digits").split().test.labels
    for size in range(1, 5):
        mean = np.mean([softmax(taus[i] * logs[i].astype(float), axis=1) for i in range(size)], axis=0)
        assert rows.at[size, "tempered_errors"] == (mean.argmax(axis=1) != labels).sum()
        loss = -np.log(mean[np.arange(len(labels)), labels]).mean()
        assert rows.at[size, "tempered_log_loss"] == pytest.approx(loss, rel=1e-4)
    paper = Ensemble(**options, n=4, repeats=1)
    expected = paper.run(tmp_path / "paper").set_index("size")
    assert rows["errors"].tolist() == expected["errors"].tolist()
    assert expected["tempered_errors"].isna().all()
    Sweep(**options, repeats=4).run(tmp_path / "without")
    assert ensemble.dry_run(tmp_path / "without").n_networks == 4


def test_a_sweeps_own_temperature_is_not_taken_for_the_ensembles(tmp_path):
    options = {**DIGITS, "hidden": 40}
    Sweep(**options, repeats=3, temperature=0.5).run(tmp_path / "run")
    for temperature, n_networks in (("loo", 3), (0.25, 0)):
        folder = tmp_path / f"run-{temperature}"
        shutil.copytree(tmp_path / "run", folder)
        ensemble = Ensemble(**options, n=3, repeats=1, temperature=temperature)
        assert ensemble.dry_run(folder).n_networks == n_networks
        rows = ensemble.run(folder)
        expected = ensemble.run(tmp_path / f"alone-{temperature}")
        pd.testing.assert_frame_equal(rows, expected, rtol=1e-5)


def test_only_what_is_missing_is_trained(swept, tmp_path):
    _, kept = swept
    Sweep(**DIGITS, hidden=[15, 30], repeats=5).run(tmp_path / "few")
    ensemble = Ensemble(**DIGITS, hidden=30, n=4, repeats=2)
    assert ensemble.dry_run(tmp_path / "few").n_networks == 3
    rows = ensemble.run(tmp_path / "few")
    assert_same_counts(rows, ensemble.run(tmp_path / "fresh"))
    for network, values in read_at_size(tmp_path / "few", "log_posteriors", range(8), 30).items():
        np.testing.assert_allclose(np.exp(values), np.exp(kept[network]), atol=1e-5)


def test_on_mnist_kept_networks_and_new_ones_give_the_same_counts(tmp_path):
    """Float32 keeps the order of classes: the counts are those of the sweep's own scores, too."""
    swept = Sweep(fanout=1, repeats=2).run(tmp_path / "run")
    ensemble = Ensemble(fanout=1, n=2, repeats=1)
    assert ensemble.dry_run(tmp_path / "run").n_networks == 0
    rows = ensemble.run(tmp_path / "run")
    assert_same_counts(rows, ensemble.run(tmp_path / "new"))
    assert rows["errors"][0] == swept["lda_errors"][0]
    assert 0.3e6 < (tmp_path / "run/kept/0.npz").stat().st_size < 0.4e6  # as runs/README.md says


def test_a_report_of_one_network_that_is_drawn_again_and_again(tmp_path):
    Ensemble(**DIGITS, hidden=20, n=1, repeats=1, draws=50).run(tmp_path)
    assert report(tmp_path, "csv").files


def test_random_subsets_of_all_networks_are_drawn_anew_each_time(tmp_path):
    Sweep(**DIGITS, hidden=30, repeats=6).run(tmp_path)
    for n_draws in (10, 500):
        Ensemble(**DIGITS, hidden=30, n=2, repeats=1, draws=n_draws).run(tmp_path)
    draws = read_rows(tmp_path, DRAWS).set_index(["left_out", "size"])
    assert not draws.index.has_duplicates
    assert draws.loc[-1, "draws"].tolist() == [500, 500]
    posteriors = np.exp(np.array([*read_kept(tmp_path, "log_posteriors", range(6)).values()], float))
    labels = load_dataset("digits").split().test.labels
    for size in (1, 2):
        members = [posteriors[[*chosen]].mean(axis=0) for chosen in combinations(range(6), size)]
        errors = np.mean([(mean.argmax(axis=1) != labels).sum() for mean in members])
        assert draws.at[(-1, size), "errors"] == pytest.approx(errors, rel=0.03)


def test_an_ensemble_is_refused_where_lda_has_no_solution(tmp_path):
    ensemble = Ensemble(dataset="iris", hidden=20, input_scale=1e-7, n=2, repeats=1)
    with pytest.raises(ElmldaError, match=r"no solution at 20 .* network 0"):
        ensemble.run(tmp_path)
    assert list_kept(tmp_path) == []


def test_a_damaged_network_is_trained_again(tmp_path):
    Sweep(**DIGITS, hidden=30, repeats=4).run(tmp_path)
    path = tmp_path / "kept" / "2.npz"
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF  # in the posteriors, which are the largest array
    path.write_bytes(damaged)
    ensemble = Ensemble(**DIGITS, hidden=30, n=4, repeats=1)
    assert ensemble.dry_run(tmp_path).n_networks == 1
    assert_same_counts(ensemble.run(tmp_path), ensemble.run(tmp_path / "fresh"))


def test_networks_of_another_size_are_trained_beside_those_that_are_kept(tmp_path):
    Sweep(**DIGITS, hidden=[15, 30], repeats=4).run(tmp_path)
    before = files_in(tmp_path)
    small = Ensemble(**DIGITS, hidden=15, n=2, repeats=1)
    assert small.dry_run(tmp_path).n_networks == 2
    assert_same_counts(small.run(tmp_path), small.run(tmp_path / "alone"))
    after = files_in(tmp_path)
    assert {name for name in before if after[name] != before[name]} == {"manifest.json"}
    with pytest.raises(ElmldaError, match="n_hidden 15"):
        Ensemble(**DIGITS, hidden=30, n=2, repeats=1).run(tmp_path)
    grown = Sweep(**DIGITS, hidden=[15, 30], repeats=5)
    rows = grown.run(tmp_path)
    first = tmp_path / "ensemble first"
    small.run(first)
    assert_same_counts(rows, grown.run(first))
