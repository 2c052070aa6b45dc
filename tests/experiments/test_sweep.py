"""The sweep: the counts of the version before, nested, independent, in folds, on held-out samples."""

import numpy as np
import pandas as pd
import pytest
from run_folders import assert_as_before
from scipy.special import softmax
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold

from elmlda import Sweep, load_dataset
from elmlda.errors import ElmldaError
from elmlda.networks.train import Recipe, train_and_test
from elmlda.options import NetworkOptions
from elmlda.runs.kept import list_kept, read_kept

COLUMNS = [
    "repeat", "fold", "n_hidden", "fanout", "rule", "ridge", "pi_errors", "pi_constant_errors",
    "lda_errors", "n_test", "log_loss", "brier", "calibration_error", "temperature",
    "tempered_log_loss", "tempered_brier", "tempered_calibration_error", "seconds", "precision",
    "machine",
]  # fmt: skip


TWO = {"fanout": "1,2", "repeats": 2}
RELU = {"activation": "relu", "bias": True}
INDEPENDENT = {"design": "independent"}


def train_network(dataset, seed, key, n_hidden):
    """The scores of the network with that spawn key."""
    data, seed = load_dataset(dataset).split(), np.random.SeedSequence(seed, spawn_key=key)
    recipe = Recipe.for_dataset(data, seed, n_hidden, NetworkOptions())
    return train_and_test(data, recipe, {0.0: (n_hidden,)}).scores


@pytest.mark.parametrize(
    ("reference", "options"),
    [
        ("iris", {"dataset": "iris", "hidden": [4, 8, 20], "repeats": 5}),
        ("independent", {"dataset": "iris", "hidden": "4,8", "repeats": 3, "seed": 7} | INDEPENDENT),
        ("digits", TWO | {"dataset": "digits", "ridge": 0.5, "priors": "frequencies"} | RELU),
        ("satimage", TWO | {"dataset": "satimage", "input_weights": "constrained"}),
        pytest.param("mnist", TWO, marks=pytest.mark.slow),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_counts_are_those_of_the_version_before(tmp_path, reference, options):
    rows = Sweep(**options).run(tmp_path)
    assert list(rows) == COLUMNS
    assert_as_before(rows, f"sweep-{reference}")


def test_rows_say_what_was_computed_and_are_empty_where_nothing_was(tmp_path):
    rows = Sweep(dataset="iris", hidden=[4, 98], ridge=[0, 0.5, "loo"], repeats=1).run(tmp_path)
    places = rows[["rule", "n_hidden"]].to_numpy().tolist()
    # Of 100 samples in three classes 97 units can be had without a ridge.
    assert places == [["fixed", 4], ["fixed", 4], ["fixed", 98], ["loo", 4], ["loo", 98]]
    assert rows.loc[rows["rule"] == "fixed", "ridge"].tolist() == [0, 0.5, 0.5]
    assert (rows.loc[rows["rule"] == "loo", "ridge"] > 0).all()
    assert rows["lda_errors"].notna().all()
    never = rows[["fold", "temperature", "tempered_log_loss"]]
    assert never.isna().all(axis=None)
    assert (rows["fanout"] == rows["n_hidden"] / 4).all()
    assert set(rows["machine"]) == {0}


@pytest.mark.parametrize("ridge", [0.5, "loo"])
def test_a_temperature_changes_no_count_and_fills_the_tempered_columns(tmp_path, ridge):
    options = {"dataset": "digits", "hidden": [30, 90], "repeats": 2, "ridge": ridge}
    plain, tempered = Sweep(**options), Sweep(**options, temperature="loo")
    before, rows = plain.run(tmp_path / "plain"), tempered.run(tmp_path / "run")
    own = ["temperature", "tempered_log_loss", "tempered_brier", "tempered_calibration_error"]
    timed = ["seconds", *own]
    pd.testing.assert_frame_equal(rows.drop(columns=timed), before.drop(columns=timed))
    assert before[own].isna().all(axis=None)
    assert rows[own].notna().all(axis=None)
    assert (rows["tempered_log_loss"] < rows["log_loss"]).all()
    assert rows["temperature"].between(0.01, 1).all()
    data = load_dataset("digits").split()
    logs, tau = (read_kept(tmp_path / "run", n, [1])[1] for n in ("log_posteriors", "loo_temperature"))
    kept, last = softmax(tau * logs.astype(float), axis=1), rows.iloc[-1]
    loss = -np.log(kept[np.arange(len(kept)), data.test.labels]).mean()
    assert loss == pytest.approx(last["tempered_log_loss"], rel=1e-4)
    assert (kept.argmax(axis=1) != data.test.labels).sum() == last["lda_errors"]
    np.testing.assert_array_equal(
        *(read_kept(tmp_path / name, "log_posteriors", [1])[1] for name in ("plain", "run"))
    )
    assert tempered.dry_run(tmp_path / "run").n_networks == 0
    with pytest.raises(ElmldaError, match="temperature"):
        plain.run(tmp_path / "run")


def test_a_size_at_which_lda_has_no_solution_has_the_other_counts(tmp_path):
    """Hidden units that are linear in four inputs: at most four of them are independent."""
    rows = Sweep(dataset="iris", hidden=[4, 20], input_scale=1e-7, repeats=2).run(tmp_path)
    assert rows["pi_errors"].notna().all()
    assert rows["lda_errors"].notna().tolist() == rows["log_loss"].notna().tolist()
    assert rows["lda_errors"].isna().tolist() == [False, True] * 2
    assert list_kept(tmp_path) == [], "there are no posteriors at the largest size"
    again = Sweep(dataset="iris", hidden=[4, 20], input_scale=1e-7, repeats=2).dry_run(tmp_path)
    assert again.n_networks == 0, "it is recorded that there is no solution"


# Nested and independent


@pytest.mark.parametrize(("hidden", "key"), [(128, (1, 2)), (100, (1, 0, 100))])
def test_keys_of_independent_networks(tmp_path, hidden, key):
    """Known by their fan-out where it is whole."""
    options = {"dataset": "digits", "hidden": [64, hidden], "repeats": 2, "seed": 3}
    rows = Sweep(**options, design="independent").run(tmp_path)
    (scores,) = train_network("digits", 3, key, hidden)
    labels = load_dataset("digits").split().test.labels
    expected = [(values[:, 0].argmax(axis=1) != labels).sum() for values in (scores.pi, scores.lda)]
    row = rows[(rows["repeat"] == 1) & (rows["n_hidden"] == hidden)]
    assert row[["pi_errors", "lda_errors"]].to_numpy().tolist() == [expected]
    assert list_kept(tmp_path) == []


# Folds and held-out samples


@pytest.mark.parametrize(("dataset", "folds"), [("iris", 10), ("wine", 7)])
def test_every_sample_is_tested_once_in_stratified_folds(tmp_path, dataset, folds):
    sweep = Sweep(dataset=dataset, hidden=5, folds=folds, repeats=2)
    rows, data = sweep.run(tmp_path), load_dataset(dataset)
    labels = data.train.labels
    assert len({tuple(one["pi_errors"]) for _, one in rows.groupby("repeat")}) == 2
    for _, one in rows.groupby("repeat"):
        assert sorted(one["fold"]) == list(range(folds))
        assert one["n_test"].sum() == len(labels)
        sizes = [len(test) for _, test in StratifiedKFold(folds).split(labels, labels)]
        assert sorted(one["n_test"]) == sorted(sizes)
    rng = np.random.default_rng(0)
    parts = list(data.folds(folds, rng))
    tested = np.concatenate([part.test.labels for part in parts])
    np.testing.assert_array_equal(np.sort(tested), np.sort(labels))
    by_class = np.array([part.test.count_classes(data.n_classes) for part in parts])
    assert (np.ptp(by_class, axis=0) <= 1).all()
    kept = read_kept(tmp_path, "labels", list_kept(tmp_path))  # of the first repeat
    np.testing.assert_array_equal(np.sort(np.concatenate(list(kept.values()))), np.sort(labels))


def test_held_out_samples_are_tested_instead_of_the_test_part(tmp_path):
    options = {"dataset": "satimage", "fanout": 1, "repeats": 1, "seed": 5}
    rows = Sweep(**options, validation=500).run(tmp_path)
    data = load_dataset("satimage")
    train = data.train
    # Standardised by what is trained on alone.
    inputs, held_out = train.inputs[:-500], train.inputs[-500:]
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0)
    weights = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(0,)))
    weights = weights.uniform(-0.5, 0.5, (data.n_inputs, data.n_inputs))
    hidden, tested = (np.tanh((part - mean) / spread @ weights.T) for part in (inputs, held_out))
    targets = np.eye(data.n_classes)[train.labels[:-500]]
    scores = tested @ np.linalg.lstsq(hidden, targets, rcond=None)[0]
    assert rows["n_test"].tolist() == [500]
    assert rows["pi_errors"].tolist() == [(scores.argmax(axis=1) != train.labels[-500:]).sum()]
    with pytest.raises(ElmldaError, match="4,435"):
        Sweep(**options, validation=4435).run(tmp_path / "all")


# What is kept, and how good the posteriors are


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept") / "run"
    return folder, Sweep(dataset="digits", hidden=[16, 40, 64], repeats=3).run(folder)


def test_wrong_answers_are_kept_for_every_method_and_size(digits):
    folder, rows = digits
    wrong, sizes = (read_kept(folder, name, range(3)) for name in ("wrong", "sizes"))
    n_test = rows["n_test"][0]
    for repeat in range(3):
        assert sizes[repeat].tolist() == [16, 40, 64]
        bits = np.unpackbits(wrong[repeat], axis=-1, count=n_test)
        own = rows[rows["repeat"] == repeat]
        for i, name in enumerate(("pi_errors", "pi_constant_errors", "lda_errors")):
            assert bits[i].sum(axis=-1).tolist() == own[name].tolist()


def test_posteriors_are_measured_as_scikit_learn_does(digits):
    folder, rows = digits
    largest = rows[rows["n_hidden"] == 64].set_index("repeat")
    with np.load(folder / "kept" / "test.npz") as archive:
        labels, classes = archive["labels"], archive["classes"]
    np.testing.assert_array_equal(labels, load_dataset("digits").split().test.labels)
    assert classes.tolist() == list("0123456789")
    for repeat, kept in read_kept(folder, "log_posteriors", range(3)).items():
        (scores,) = train_network("digits", 0, (repeat,), 64)
        exact = softmax(scores.lda[:, 0], axis=1)
        np.testing.assert_allclose(np.exp(kept), exact, atol=1e-6)
        assert kept.dtype == np.float32
        assert (kept.argmax(axis=1) != labels).sum() == largest.at[repeat, "lda_errors"]
        brier = brier_score_loss(labels, exact, labels=range(10), scale_by_half=False)
        assert largest.at[repeat, "brier"] == pytest.approx(brier, rel=1e-4)
        assert largest.at[repeat, "log_loss"] == pytest.approx(log_loss(labels, exact), rel=1e-4)


@pytest.mark.parametrize("ridge", [0, "loo"])
def test_a_run_that_grows_keeps_the_wrong_answers_of_every_size(tmp_path, ridge):
    for hidden in ([4, 8], [4, 8, 12], [4, 6, 8, 12]):
        rows = Sweep(dataset="iris", hidden=hidden, repeats=2, ridge=ridge).run(tmp_path)
    sizes = read_kept(tmp_path, "sizes", range(2))
    assert [size for size in (4, 8, 12) if size not in sizes[1]] == []
    wrong = np.unpackbits(read_kept(tmp_path, "wrong", [1])[1], axis=-1, count=50)
    own = rows[(rows["repeat"] == 1) & rows["n_hidden"].isin(sizes[1])]
    assert wrong[2].sum(axis=-1).tolist() == own["lda_errors"].tolist()
