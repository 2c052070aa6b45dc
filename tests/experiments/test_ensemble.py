"""Ensembles: from what is kept where it can be, and numpy's mean of the posteriors."""

import numpy as np
import pytest
from run_folders import assert_as_before, assert_same_counts, files_in

from elmlda import Ensemble, Sweep, load_dataset
from elmlda.errors import ElmldaError
from elmlda.runs.kept import read_kept

DIGITS = {"dataset": "digits", "seed": 2}


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A folder with 24 networks of 30 units, twenty of them packed, and what was kept."""
    folder = tmp_path_factory.mktemp("swept")
    Sweep(**DIGITS, hidden=[15, 30], repeats=24).run(folder)
    return folder, read_kept(folder, "posteriors", range(24))


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
        members = np.stack([kept[12 * repeat + i].astype(float) for i in range(12)])
        own = rows[rows["repeat"] == repeat].set_index("size")
        assert own.index.tolist() == list(range(1, 13))
        for size in range(1, 13):
            mean = members[:size].mean(axis=0)
            assert own.at[size, "errors"] == (mean.argmax(axis=1) != labels).sum()
            loss = -np.log(mean[np.arange(len(labels)), labels]).mean()
            assert own.at[size, "log_loss"] == pytest.approx(loss, rel=5e-3)  # float16's rounding


def test_log_loss_of_posteriors_that_float16_has_as_zero(tmp_path):
    """A network that is sure and wrong: its log-loss is the sweep's, though its kept posterior is 0."""
    options = {**DIGITS, "hidden": 900}
    swept = Sweep(**options, repeats=2).run(tmp_path)
    labels = load_dataset("digits").split().test.labels
    kept = read_kept(tmp_path, "posteriors", [0])[0]
    assert kept[np.arange(len(labels)), labels].min() == 0
    found = Ensemble(**options, n=1, repeats=2).run(tmp_path)["log_loss"]
    assert found.to_numpy() == pytest.approx(swept["log_loss"].to_numpy(), rel=2e-3)


def test_log_loss_is_empty_where_networks_have_no_kept_logarithms(tmp_path, recwarn):
    """As those of the registered run, which are older than these logarithms."""
    options = {**DIGITS, "hidden": 30}
    Sweep(**options, repeats=2).run(tmp_path)
    for number in (0, 1):
        path = tmp_path / f"kept/{number}.npz"
        kept = dict(np.load(path))
        del kept["truth"]
        np.savez(path, **kept)
    found = Ensemble(**options, n=2, repeats=1).run(tmp_path)
    assert found["log_loss"].isna().all()
    assert found[["errors", "brier"]].notna().all(axis=None)
    assert not recwarn.list


def test_tempered_posteriors_are_combined_beside_the_papers(tmp_path):
    """A sweep with the temperature has kept all that is needed; one without has to be trained again."""
    options = {**DIGITS, "hidden": 40}
    Sweep(**options, repeats=4, temperature="loo").run(tmp_path / "run")
    ensemble = Ensemble(**options, n=4, repeats=1, temperature="loo")
    assert ensemble.dry_run(tmp_path / "run").n_networks == 0
    rows = ensemble.run(tmp_path / "run").set_index("size")
    kept = read_kept(tmp_path / "run", "tempered", range(4))
    labels = load_dataset("digits").split().test.labels
    for size in range(1, 5):
        mean = np.mean([kept[i].astype(float) for i in range(size)], axis=0)
        assert rows.at[size, "tempered_errors"] == (mean.argmax(axis=1) != labels).sum()
        loss = -np.log(mean[np.arange(len(labels)), labels]).mean()
        assert rows.at[size, "tempered_log_loss"] == pytest.approx(loss, rel=1e-4)
    paper = Ensemble(**options, n=4, repeats=1)
    expected = paper.run(tmp_path / "paper").set_index("size")
    assert rows["errors"].tolist() == expected["errors"].tolist()
    assert expected["tempered_errors"].isna().all()
    Sweep(**options, repeats=4).run(tmp_path / "without")
    assert ensemble.dry_run(tmp_path / "without").n_networks == 4


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


def test_networks_of_another_size_are_not_overwritten(tmp_path):
    Sweep(**DIGITS, hidden=[15, 30], repeats=4).run(tmp_path)
    before = files_in(tmp_path)
    for act in (Ensemble.dry_run, Ensemble.run):
        with pytest.raises(ElmldaError, match="30 hidden units") as caught:
            act(Ensemble(**DIGITS, hidden=15, n=2, repeats=1), tmp_path)
        assert "out" in caught.value.settings
    changed = {name for name, content in files_in(tmp_path).items() if before.get(name) != content}
    assert changed <= {"manifest.json"}
    assert len(Ensemble(**DIGITS, hidden=30, n=2, repeats=2).run(tmp_path)) == 4


def test_more_ensembles(tmp_path):
    few = Ensemble(**DIGITS, hidden=20, n=3, repeats=1)
    many = Ensemble(**DIGITS, hidden=20, n=3, repeats=3)
    first = few.run(tmp_path / "grown")
    assert many.dry_run(tmp_path / "grown").n_networks == 6
    found = many.run(tmp_path / "grown")
    assert_same_counts(found, many.run(tmp_path / "alone"))
    assert_same_counts(few.run(tmp_path / "grown"), first)
    with pytest.raises(ElmldaError, match="n 3"):
        Ensemble(**DIGITS, hidden=20, n=2, repeats=1).run(tmp_path / "grown")
