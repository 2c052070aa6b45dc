"""Shaped input weights through every command, elmlda tune, and the study elmlda shaped."""

import csv
import json

import numpy as np
import pytest
from command_line import read_records
from made_up import make_run, sweep_records

from elmlda import ELMClassifier, ELMEnsembleClassifier
from elmlda.datasets import load_dataset
from elmlda.errors import ElmldaError
from elmlda.experiments.tune import TuneRecord, choose
from elmlda.networks.model_file import read_model
from elmlda.networks.train import run_network
from elmlda.reports.write import report
from elmlda.settings import INPUT_WEIGHTS, NetworkSettings

SHAPED = INPUT_WEIGHTS[1:]
PLAN = "--hidden", "10,20,30", "--ridge", "0.01", "--min-field", "2", "--precision", "double", "--quiet"


@pytest.fixture
def sweep(invoke, clouds, tmp_path):
    """The records of a sweep, timings aside."""

    def run(folder, scheme, *more, repeats=3):
        words = "--data-dir", clouds, "--input-weights", scheme, "--out", folder, "--repeats", repeats
        assert invoke("sweep", *words, *PLAN, *more).exit_code == 0
        return read_rows(tmp_path / folder / "sweep.csv")

    return run


@pytest.fixture
def tune(invoke, clouds, tmp_path):
    def run(*more, folder="tuned", scheme="constrained", data=clouds):
        words = "--data-dir", data, "--input-weights", scheme, "--hidden", 30, "--out", folder
        result = invoke("tune", *words, "--min-field", 2, *more)
        assert result.exit_code == 0, result.output
        return read_records(tmp_path / folder, TuneRecord), result.stdout

    return run


def read_rows(path):
    with path.open() as file:
        return [
            {name: value for name, value in row.items() if name not in ("seconds", "crc32")}
            for row in csv.DictReader(file)
        ]


# Every scheme through the commands


@pytest.mark.parametrize("scheme", SHAPED)
def test_the_same_counts_however_it_is_run(sweep, scheme):
    rows = sweep("once", scheme)
    assert len(rows) == 9
    assert len({row["lda_errors"] for row in rows}) > 3
    sweep("twice", scheme, repeats=1)
    assert sweep("twice", scheme) == rows
    assert sweep("chunks", scheme, "--chunk", 37) == rows
    assert sweep("jobs", scheme, "--jobs", 2, "--threads", 1) == rows
    assert sweep("blocks", scheme, "--split-rows", 3) == rows
    assert sweep("others", scheme, "--seed", 1) != rows


def test_schemes_and_norms_are_different_networks(sweep):
    found = [sweep(scheme, scheme) for scheme in INPUT_WEIGHTS]
    found += [sweep("large", "constrained", "--weight-norm", 8)]
    assert all(one != other for i, one in enumerate(found) for other in found[:i])


def test_a_run_keeps_its_scheme(sweep, refusal, clouds):
    sweep("run", "constrained")
    words = "sweep", "--data-dir", clouds, "--out", "run", *PLAN
    assert "was made with" in refusal(*words)
    assert "input_weights constrained" in refusal(*words)
    shaped = *words, "--input-weights", "constrained", "--weight-norm", 3
    assert "was made with weight_norm 2.0; this command has weight_norm 3.0" in refusal(*shaped)


@pytest.mark.parametrize("scheme", SHAPED)
def test_train_and_estimators_make_the_network_of_a_sweep(scheme, sweep, invoke, clouds, tmp_path):
    rows = sweep("run", scheme, repeats=1)
    words = "--data-dir", clouds, "--hidden", 30, *PLAN[2:], "--input-weights", scheme
    assert invoke("train", *words, "--out", "m.npz").exit_code == 0
    data = load_dataset(data_dir=clouds)
    model = read_model(tmp_path / "m.npz")
    errors = int(rows[-1]["lda_errors"])
    assert (model.choose(data.test.inputs) != data.test.labels).sum() == errors
    params = {"n_hidden": 30, "ridge": 0.01, "min_field": 2, "random_state": 0, "image_shape": (3, 3)}
    network = ELMClassifier(input_weights=scheme, bias=False, **params)
    network.fit(data.train.inputs / 255, data.train.labels)
    assert (network.predict(data.test.inputs / 255) != data.test.labels).sum() == errors
    network.save(tmp_path / "e.npz")
    again = ELMClassifier.load(tmp_path / "e.npz")
    np.testing.assert_array_equal(again.coefs_[0], network.coefs_[0])
    np.testing.assert_array_equal(
        again.predict_proba(data.test.inputs / 255), network.predict_proba(data.test.inputs / 255)
    )


def test_an_ensembles_file_keeps_constrained_weights_and_seeds_of_others(clouds, tmp_path):
    train = load_dataset(data_dir=clouds).train
    for scheme, kept in (("constrained", True), ("receptive-field", False)):
        ensemble = ELMEnsembleClassifier(
            3, n_hidden=20, input_weights=scheme, min_field=2, image_shape=(3, 3), random_state=1
        ).fit(train.inputs / 255, train.labels)
        ensemble.save(tmp_path / "m.npz")
        with np.load(tmp_path / "m.npz") as stored:
            assert ("input_weights" in stored) == kept
        again = ELMEnsembleClassifier.load(tmp_path / "m.npz")
        assert again.get_params()["input_weights"] == scheme
        np.testing.assert_array_equal(again.predict(train.inputs), ensemble.predict(train.inputs))


def test_timing_compare_and_ensemble_take_a_scheme(invoke, clouds):
    weights = "--input-weights", "constrained", "--quiet"
    small = "--data-dir", clouds, "--out", "run", "--ridge", 0.1, *weights
    assert invoke("timing", "--fanout", 2, "--repeats", 1, *small).exit_code == 0
    assert invoke("ensemble", "--fanout", 2, "--n", 2, "--repeats", 1, *small).exit_code == 0
    words = "compare", "--dataset", "iris", "--fanout", 2, "--folds", 3, "--repeats", 1
    assert invoke(*words, *weights).exit_code == 0


# What is refused


def test_receptive_fields_need_images(refusal):
    expected = (
        "receptive-field input weights need images, and these samples have no rows and columns of "
        "pixels. Use uniform or constrained ones (--input-weights)."
    )
    weights = "--input-weights", "receptive-field"
    assert refusal("sweep", "--dataset", "iris", *weights) == expected
    assert refusal("compare", "--dataset", "iris", *weights) == expected
    assert refusal("train", "--dataset", "iris", *weights) == expected


def test_wrong_values(refusal, clouds):
    small = "sweep", "--data-dir", clouds
    fields = "--input-weights", "receptive-field"
    assert "field has 10 pixels, an image 9. Lower --min-field." in refusal(*small, *fields)
    assert "weight norm is 0.0: expected a number above zero" in refusal(*small, "--weight-norm", 0)
    assert "'gabor'" in refusal(*small, "--input-weights", "gabor", exit_code=2)


def test_what_estimators_refuse(clouds):
    train = load_dataset(data_dir=clouds).train
    expected = {
        "input_weights='receptive-field' needs image_shape: rows and columns": {},
        "images of 2 × 3 have 6 pixels, the samples have 9 inputs": {"image_shape": (2, 3)},
        "field has 10 pixels, an image 9. Lower min_field": {"image_shape": (3, 3)},
        "min_field is 0: expected a whole number from 1 on": {"min_field": 0},
        "weight_norm is -1: expected a number above 0": {"weight_norm": -1},
        "input weights is 'gabor': expected one of uniform, constrained": {"input_weights": "gabor"},
    }
    for message, params in expected.items():
        network = ELMClassifier(20, **{"input_weights": "receptive-field", **params})
        with pytest.raises(ValueError, match=message):
            network.fit(train.inputs, train.labels)


def test_a_stream_has_receptive_fields_but_no_constrained_weights(clouds):
    train = load_dataset(data_dir=clouds).train
    inputs, labels = train.inputs / 255, train.labels
    fields = {"input_weights": "receptive-field", "min_field": 2, "image_shape": (3, 3)}
    whole = ELMClassifier(20, random_state=0, **fields).fit(inputs, labels)
    stream = ELMClassifier(20, random_state=0, **fields)
    for part in (slice(250), slice(250, None)):
        stream.partial_fit(inputs[part], labels[part], classes=range(4))
    np.testing.assert_allclose(stream.coefs_[1], whole.coefs_[1], rtol=1e-6)
    constrained = ELMClassifier(20, random_state=0, input_weights="constrained")
    with pytest.raises(ValueError, match="constrained input weights need the training samples all at"):
        constrained.partial_fit(inputs, labels, classes=range(4))
    # Going on after fit has drawn them is another matter.
    constrained.fit(inputs[:300], labels[:300]).partial_fit(inputs[300:], labels[300:])
    assert constrained.class_count_.sum() == 600


# elmlda tune


def test_tune_counts_what_a_network_gets_wrong_of_the_held_out_samples(tune, clouds):
    values = "--ridge", "0.01,1", "--weight-norm", "0.5,3", "--repeats", 2, "--validation", 150
    records, printed = tune(*values)
    assert len(records) == 8
    data = load_dataset(data_dir=clouds).hold_out(150)
    for record in records:
        settings = NetworkSettings(
            ridge=record.ridge, input_weights="constrained", weight_norm=record.weight_size
        )
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(record.repeat,)))
        network = run_network(data, rng, (30,), settings)
        assert (record.pi_errors, record.lda_errors) == (network.pi_errors[0], network.lda_errors[0])
        assert (record.n_hidden, record.n_validation) == (30, 150)
    best = choose(records)
    means = {
        key: np.mean([r.lda_errors for r in records if (r.weight_size, r.ridge) == key])
        for key in {(r.weight_size, r.ridge) for r in records}
    }
    assert means[best.weight_size, best.ridge] == min(means.values())
    assert f"--weight-norm {best.weight_size:g} --ridge {best.ridge:g}, " in printed


def test_tune_goes_on_and_tries_more(tune, tmp_path):
    few = tune("--ridge", "1", "--weight-norm", "1", "--repeats", 1)[0]
    written = (tmp_path / "tuned/tune.csv").stat().st_mtime_ns
    assert tune("--ridge", "1", "--weight-norm", "1", "--repeats", 1)[0] == few
    assert (tmp_path / "tuned/tune.csv").stat().st_mtime_ns == written
    more = tune("--ridge", "1,10", "--weight-norm", "1,2", "--repeats", 2, "--jobs", 2, "--threads", 1)[
        0
    ]
    assert len(more) == 8
    assert few[0] in more
    fresh = tune("--ridge", "1,10", "--weight-norm", "1,2", "--repeats", 2, folder="fresh")[0]
    assert more == fresh
    planned = json.loads((tmp_path / "tuned/manifest.json").read_text())["experiments"]["tune"]
    assert planned["ridge"] == [1.0, 10.0]


def test_the_test_samples_have_no_part_in_it(tune, clouds, tmp_path):
    copy = tmp_path / "clouds"
    copy.mkdir()
    for path in clouds.iterdir():
        content = path.read_bytes()
        is_test_label = path.name.startswith("t10k-labels")
        (copy / path.name).write_bytes(content[:8] + content[8:][::-1] if is_test_label else content)
    values = "--ridge", "0.1,1", "--weight-norm", "1", "--repeats", 1
    assert tune(*values)[0] == tune(*values, folder="other", data=copy)[0]


def test_tune_of_uniform_weights_tries_their_range(tune):
    values = "--ridge", "0.1", "--weight-range", "0.25,0.5", "--weight-norm", "7", "--repeats", 1
    records, printed = tune(*values, scheme="uniform")
    assert [record.weight_size for record in records] == [0.25, 0.5]
    assert "--input-weights uniform --weight-range" in printed


def test_what_tune_refuses(refusal, clouds, tune):
    words = "tune", "--data-dir", clouds, "--hidden", 30, "--out", "run"
    assert (
        refusal(*words, "--ridge", "1,-1") == "ridge is -1.0: expected a number that is not negative."
    )
    assert "weight range is 0.0" in refusal(*words, "--weight-range", "0,1")
    assert "with commas" in refusal(*words, "--ridge", "a,b", exit_code=2)
    assert refusal(*words, "--validation", 600) == (
        "clouds: 600 samples cannot be held out of 600: expected 1 to 599."
    )
    tune("--ridge", "1", "--weight-norm", "1", "--repeats", 1)
    other = "tune", "--data-dir", clouds, "--hidden", 20, "--out", "tuned"
    assert "was made with" in refusal(*other, "--input-weights", "constrained")


def test_tune_plans_without_training(invoke, clouds, tmp_path):
    words = "tune", "--data-dir", clouds, "--hidden", 30, "--out", "run", "--dry-run"
    assert "to be trained  15 networks" in invoke(*words).stdout
    assert not (tmp_path / "run").exists()


# The study


STUDY = """
[shaped]
fanout = "1-3"
repeats = 3
tune_fanout = 2
tune_repeats = 1
ridge = [0.01, 1]
weight_norm = "1,4"
weight_range = "0.5,2"
min_field = 2
n = 4
ensemble_fanout = 3
"""


@pytest.fixture
def study(invoke, clouds, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)

    def run(*more):
        result = invoke("shaped", "--config", "study.toml", "--data-dir", clouds, *more)
        assert result.exit_code == 0, result.output
        return result

    return run


def test_the_study_tunes_sweeps_and_combines(study, tmp_path):
    printed = study().stdout
    folder = tmp_path / "results/shaped"
    choices = {}
    for scheme in INPUT_WEIGHTS:
        choices[scheme] = choose(read_records(folder / "tune" / scheme, TuneRecord))
        run = json.loads((folder / scheme / "manifest.json").read_text())["run"]
        size = run["weight_range" if scheme == "uniform" else "weight_norm"]
        assert (size, run["ridge"]) == (choices[scheme].weight_size, choices[scheme].ridge)
    best = min(INPUT_WEIGHTS, key=lambda scheme: choices[scheme].lda_error_percent)
    assert f"Ensemble of {best}" in printed
    repeats = {scheme: len(read_rows(folder / scheme / "sweep.csv")) // 3 for scheme in INPUT_WEIGHTS}
    assert repeats == {scheme: 4 if scheme == best else 3 for scheme in INPUT_WEIGHTS}
    assert [path.parent.name for path in folder.glob("*/ensemble.csv")] == [best]
    before = {path: path.read_bytes() for path in folder.rglob("*.csv")}
    study()
    assert {path: path.read_bytes() for path in folder.rglob("*.csv")} == before
    assert study("--quiet").stdout == ""


def test_the_studys_report(study, invoke, tmp_path):
    study("--quiet")
    result = invoke("report", "--format", "csv", "--format", "figures", "--format", "md")
    assert result.exit_code == 0
    folder = tmp_path / "results/shaped"
    assert "results/shaped: Test errors of LDA-ELM with 27 hidden units: " in result.stdout
    rows = read_rows(folder / "schemes.csv")
    assert [row["input_weights"] for row in rows] == [s for s in INPUT_WEIGHTS for _ in range(3)]
    for row in rows:
        errors = [
            int(record["lda_errors"])
            for record in read_rows(folder / row["input_weights"] / "sweep.csv")
            if record["n_hidden"] == row["n_hidden"]
        ]
        assert float(row["lda_error_percent"]) == pytest.approx(np.mean(errors) / 2, rel=1e-5)
    page = (folder / "report.md").read_text()
    for expected in ("What was chosen on held-out samples", "Ensemble of networks with", "PI − LDA is"):
        assert expected in page
    assert page.count("\nelmlda shaped --") == 1, "one command made all of its runs"
    assert (folder / "schemes.png").stat().st_size > 10_000
    for scheme in INPUT_WEIGHTS:
        assert (folder / "tune" / scheme / "tune.png").exists()
        assert "are best: LDA-ELM gets" in (folder / "tune" / scheme / "report.md").read_text()


def test_a_study_on_mnist_stands_beside_others_figures(tmp_path):
    """The paper's points, and those of McDonnell et al., which are of 28 × 28 images."""
    rates = {1: [(3.3, 3.2)] * 2, 10: [(1.2, 1.1)] * 2}
    for scheme in ("constrained", "receptive-field-constrained"):
        run = {"input_weights": scheme, "weight_norm": 1.0, "ridge": 1.0}
        make_run(tmp_path / scheme, run=run, sweep=sweep_records(rates))
    paths = report(tmp_path, ("figures", "md")).paths
    assert [path.name for path in paths] == ["schemes.png", "schemes.svg", "report.md"]
    drawn = (tmp_path / "schemes.svg").read_text()
    assert "LDA-ELM, the paper" in drawn
    assert "PI-ELM, McDonnell et al." in drawn
    page = (tmp_path / "report.md").read_text()
    assert "What was chosen on held-out samples" not in page, "there was no tuning"


def test_a_study_without_a_common_size_says_so(tmp_path):
    for scheme, fanout in (("uniform", 1), ("constrained", 2)):
        rates = {fanout: [(3.0, 2.9)]}
        make_run(tmp_path / scheme, run={"input_weights": scheme}, sweep=sweep_records(rates))
    finding = report(tmp_path, ("md",)).report.headline
    assert finding.startswith("No number of hidden units has been run with every kind")


def test_a_study_is_of_one_data_set(tmp_path):
    for scheme, name in (("uniform", "mnist"), ("constrained", "digits")):
        run = {"input_weights": scheme, "dataset": name}
        make_run(tmp_path / scheme, run=run, sweep=sweep_records({1: [(3.0, 2.9)]}))
    with pytest.raises(ElmldaError, match=r"runs of several data sets \(.*mnist"):
        report(tmp_path, ("md",))


def test_ridges_that_float32_is_not_enough_for(tune):
    """The whole network is computed again in double, and its records say so."""
    records, _ = tune("--weight-norm", "0.001", "--ridge", "1e-12,1", "--repeats", 1)
    assert {record.precision for record in records} == {"double"}


def test_some_schemes_only(study, tmp_path):
    study("--scheme", "constrained", "--scheme", "uniform", "--quiet")
    made = {path.parent.name for path in (tmp_path / "results/shaped").glob("*/sweep.csv")}
    assert made == {"uniform", "constrained"}


def test_shaped_networks_on_mnist_are_no_verdict_on_the_paper(invoke, tmp_path):
    """MNIST's first image and class sums are all that such a small network takes time for."""
    words = "--hidden", "10", "--repeats", 2, "--quiet", "--ridge", 1, "--out", "run"
    assert invoke("sweep", *words, "--input-weights", "receptive-field-constrained").exit_code == 0
    result = invoke("report", "run")
    assert "run: Not the paper's input weights but receptive-field-constrained ones." in result.stdout
    assert not (tmp_path / "run/claims.csv").exists()
