"""Shaped input weights through every command, elmlda tune, and the study elmlda shaped."""

import csv
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import invoke_here, read_records
from scipy.special import softmax

from elmlda import ELMClassifier, ELMEnsembleClassifier
from elmlda.datasets import load_dataset
from elmlda.experiments.options import Share
from elmlda.experiments.selection import choose
from elmlda.experiments.shaped_networks import (
    Setting,
    ShapedEnsembleRecord,
    ShapedNetworks,
    ShapedRecord,
    run_job,
)
from elmlda.experiments.tune import Tune, TuneRecord
from elmlda.networks import cost
from elmlda.networks.model_file import read_model
from elmlda.networks.train import Readout, run_network, train_network
from elmlda.reports.study import make_study_report
from elmlda.reports.write import report
from elmlda.runs.manifest import read_manifest
from elmlda.runs.records import open_records
from elmlda.settings import INPUT_WEIGHTS, NetworkSettings, Resources

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
    found = refusal("shaped", "--dataset", "iris", "--fanout", 1, "--tune-fanout", 1)
    assert found == expected.replace("field", "field-constrained", 1)
    assert not Path("results").exists(), "at once, not after hours"


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
    for method, name in (("pi", "PI-ELM"), ("lda", "LDA-ELM")):
        chosen = choose(records, method).chosen
        options = f"--weight-norm {chosen.weight_size:g} --ridge {chosen.ridge:g}\n"
        percent = f"{chosen.error_percent:.2f} % errors on them with"
        assert f"{name} has {percent}\n  --input-weights constrained {options}" in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_tune_says_where_the_best_lies_on_the_edge(tune):
    printed = tune("--ridge", "1e-3,1000", "--weight-norm", "1", "--repeats", 3)[1]
    assert printed.count("\n  Its best lies at the ") == 2, "of two values each is on an edge"
    assert "largest ridge that was tried (1000)." in printed
    inside = tune("--ridge", "1e-3", "--weight-norm", "1", "--repeats", 3, folder="one")[1]
    assert "Its best lies" not in inside, "one value has no edge"


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
tune_repeats = 3
ridge = [0.01, 1]
weight_norm = "1,4"
weight_range = "0.5,2"
widen = 1
min_field = 2
n = 3
ensembles = 2
"""


@pytest.fixture(scope="module")
def made(clouds, tmp_path_factory):
    """The whole study, and what it printed."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(STUDY)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = invoke_here("shaped", "--config", "study.toml", "--data-dir", clouds)
    assert result.exit_code == 0, result.output
    return folder, result.stdout


@pytest.fixture
def whole_study(made, study, tmp_path):
    shutil.copytree(made[0] / "results", tmp_path / "results")
    return study


@pytest.fixture
def study(invoke, clouds, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)

    def run(*more):
        result = invoke("shaped", "--config", "study.toml", "--data-dir", clouds, *more)
        assert result.exit_code == 0, result.output
        return result

    return run


def read_tuned(folder):
    return {kind: read_records(folder / "tune" / kind, TuneRecord) for kind in INPUT_WEIGHTS}


def test_the_study_runs_each_method_at_its_own_setting(made, whole_study, clouds, tmp_path):
    folder = tmp_path / "results/shaped"
    tuned, records = read_tuned(folder), read_records(folder, ShapedRecord)
    assert any(len({r.ridge for r in found}) > 2 for found in tuned.values()), "some grid is widened"
    assert "tune, grid widened" in made[1]
    best = {
        method: min(INPUT_WEIGHTS, key=lambda k: choose(tuned[k], method).chosen.error_percent)
        for method in ("pi", "lda")
    }
    for kind in INPUT_WEIGHTS:
        for method in ("pi", "lda"):
            chosen = choose(tuned[kind], method).chosen
            found = [r for r in records if (r.input_weights, r.method) == (kind, method)]
            assert {(r.weight_size, r.ridge) for r in found} == {(chosen.weight_size, chosen.ridge)}
            assert len(found) == 3 * (6 if best[method] == kind else 3)
    data = load_dataset(data_dir=clouds)
    for record in records[::7]:
        size = "weight_range" if record.input_weights == "uniform" else "weight_norm"
        settings = NetworkSettings(
            ridge=record.ridge, input_weights=record.input_weights, min_field=2,
            **{size: record.weight_size},
        )  # fmt: skip
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(record.repeat,)))
        network = run_network(data, rng, (record.n_hidden,), settings)
        assert getattr(network, f"{record.method}_errors") == (record.errors,)
    before = {path: path.read_bytes() for path in folder.rglob("*.csv")}
    assert "all         0 networks" in whole_study("--dry-run").stdout.splitlines()[-1]
    assert whole_study("--quiet").stdout == ""
    assert {path: path.read_bytes() for path in folder.rglob("*.csv")} == before


def test_ensembles_are_of_posteriors_and_of_scores(made, clouds):
    """Each is made again here from its networks, by scores that were not stored."""
    folder, data = made[0] / "results/shaped", load_dataset(data_dir=clouds)
    ensembles = read_records(folder, ShapedEnsembleRecord)
    assert {(r.method, r.repeat, r.size) for r in ensembles} == {
        (method, repeat, size) for method in ("pi", "lda") for repeat in (0, 1) for size in (1, 2, 3)
    }
    for method in ("pi", "lda"):
        for repeat in (0, 1):
            of_one = [r for r in ensembles if (r.method, r.repeat) == (method, repeat)]
            total = 0
            for record, network in zip(of_one, range(3 * repeat, 3 * repeat + 3), strict=True):
                size = "weight_range" if record.input_weights == "uniform" else "weight_norm"
                settings = NetworkSettings(
                    ridge=record.ridge, input_weights=record.input_weights, min_field=2,
                    precision="double", **{size: record.weight_size},
                )  # fmt: skip
                rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(network,)))
                readout = Readout((record.n_hidden,), record.ridge)
                trained = train_network(data, rng, [readout], settings, Resources(), [method])
                scores = trained.readouts[0].scores[method][:, 0]
                total = total + (softmax(scores, axis=1) if method == "lda" else scores)
                wrong = np.flatnonzero(total.argmax(axis=1) != data.test.labels)
                assert record.errors == len(wrong)
            assert record.places == set(wrong.tolist())


@pytest.fixture
def jobs(clouds, tmp_path):
    chosen = tuple(
        Setting(kind, method, 1.0, 0.1 if method == "pi" else 0.2)
        for kind in INPUT_WEIGHTS
        for method in ("pi", "lda")
    )
    networks = ShapedNetworks(
        data_dir=clouds, min_field=2, chosen=chosen, combined=chosen[:2], fanouts=1, repeats=5, n=4
    )
    return networks.bind(tmp_path, Share()).jobs()


def test_scores_of_pi_and_posteriors_of_lda_are_kept(jobs, clouds):
    """Each by the ridge of its method, from one network."""
    job, data = jobs[0], load_dataset(data_dir=clouds)
    found = {setting.method: outputs for setting, outputs in run_job(job).outputs.items()}
    for method, ridge in (("pi", 0.1), ("lda", 0.2)):
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=job.key))
        readout = Readout(job.sizes, ridge)
        trained = train_network(data, rng, [readout], job.settings, Resources(), [method])
        scores = trained.readouts[0].scores[method][:, -1]
        expected = softmax(scores, axis=1) if method == "lda" else scores
        np.testing.assert_allclose(found[method], expected, rtol=1e-4, atol=1e-6)


def test_the_same_records_side_by_side_and_after_more_ensembles(clouds, tmp_path):
    chosen = Setting("constrained", "pi", 1.0, 0.1), Setting("constrained", "lda", 2.0, 0.1)
    few = ShapedNetworks(
        data_dir=clouds, chosen=chosen, combined=chosen, fanouts="1-2", repeats=2, n=2, ensembles=1
    )
    more = replace(few, ensembles=2)
    few.run(tmp_path / "grown", threads=1)
    more.run(tmp_path / "grown", threads=1)
    more.run(tmp_path / "once", jobs=2, threads=1)
    for name in ("networks.csv", "ensembles.csv"):
        rows = read_rows(tmp_path / "once" / name)
        assert len(rows) == (2 * 4 * 2 if name == "networks.csv" else 2 * 2 * 2)
        assert read_rows(tmp_path / "grown" / name) == rows


def test_few_networks_of_every_kind_come_first(jobs):
    order = [(job.settings.input_weights, job.key[0]) for job in jobs]
    assert len(order) == 12 + 15, "methods that differ in their ridge alone share a network"
    assert {repeat for _, repeat in order[:12]} == {0, 1, 2}
    assert order[12] == ("uniform", 3), "then the rest of the first ensemble"
    assert {kind for kind, _ in order[13:20]} == set(INPUT_WEIGHTS)
    assert order[20:] == [("uniform", repeat) for repeat in range(5, 12)]


def test_a_stopped_study_goes_on(whole_study, tmp_path):
    """A record less, a whole ensemble less, and outputs that are gone: all is computed again."""
    folder = tmp_path / "results/shaped"
    files = [folder / "networks.csv", folder / "ensembles.csv"]
    before = [read_rows(path) for path in files]
    files[0].write_text("".join(files[0].read_text().splitlines(keepends=True)[:-4]))
    files[1].write_text("".join(files[1].read_text().splitlines(keepends=True)[:-1]))
    for path in list((folder / "posteriors").iterdir())[:3]:
        path.unlink()
    whole_study("--quiet")
    assert [read_rows(path) for path in files] == before


def test_the_studys_report(whole_study, invoke, tmp_path):
    result = invoke("report", "--format", "csv", "--format", "figures", "--format", "md")
    assert result.exit_code == 0
    folder = tmp_path / "results/shaped"
    assert "results/shaped: " in result.stdout
    assert "Ensembles of 3 networks of 27 hidden units with" in result.stdout
    rows = read_rows(folder / "shaped_fanouts.csv")
    assert [row["input_weights"] for row in rows] == [s for s in INPUT_WEIGHTS for _ in range(3)]
    records = read_records(folder, ShapedRecord)
    for row in rows:
        for method in ("pi", "lda"):
            key = row["input_weights"], method, int(row["n_hidden"])
            errors = [r.errors for r in records if (r.input_weights, r.method, r.n_hidden) == key]
            assert float(row[f"{method}_error_percent"]) == pytest.approx(np.mean(errors) / 2, rel=1e-5)
    page = (folder / "report.md").read_text()
    for expected in (
        "## Same budget, each at its own best",
        "## What was chosen on held-out samples",
        "weights was widened by ",
        "Of 5 comparisons LDA-ELM is better in ",
    ):
        assert expected in page
    assert re.search(r"One of these networks took \d+ s \(median\), with all fan-outs; ", page)
    assert page.count("\nelmlda shaped --") == 1, "one command made all of its runs"
    assert (folder / "shaped.png").stat().st_size > 10_000
    for scheme in INPUT_WEIGHTS:
        assert (folder / "tune" / scheme / "tune.png").exists()
        tuned = (folder / "tune" / scheme / "report.md").read_text()
        assert f"PI-ELM with {scheme} input weights: " in tuned


def test_a_studys_report_leaves_out_what_is_no_longer_chosen(whole_study, tmp_path):
    """More was tried after the networks were trained, and LDA-ELM chooses otherwise."""
    folder = tmp_path / "results/shaped"
    before = len(make_study_report(folder).tables["shaped_fanouts"])
    tuned = open_records(folder / "tune/uniform", read_manifest(folder / "tune/uniform"), TuneRecord)
    at_one = [record for record in tuned.read() if record.ridge == 1]
    tuned.append([replace(record, ridge=7.0, pi_errors=100, lda_errors=0) for record in at_one])
    table = make_study_report(folder).tables["shaped_fanouts"].set_index("input_weights")
    assert len(table) == before
    assert set(table.loc["uniform", "lda_repeats"]) == {0}
    assert table.loc["uniform", "lda_error_percent"].isna().all()
    assert set(table.loc["uniform", "pi_repeats"]) <= {3, 6}
    page = report(folder, ("figures", "md")).paths[-1].read_text()
    assert "LDA-ELM with uniform weights has 0 of 6 planned networks." in page
    assert "LDA-ELM has 0 of 2 planned ensembles." in page


def test_a_study_without_what_it_chose_by_is_refused(whole_study, refusal, tmp_path):
    shutil.rmtree(tmp_path / "results/shaped/tune/constrained")
    assert refusal("report", "results/shaped") == (
        "results/shaped/tune: no records of constrained input weights, so what was chosen for them is "
        "not known. Restore them, or run elmlda shaped with the same --out results/shaped again."
    )


def test_the_report_of_a_study_that_has_just_begun(whole_study, tmp_path):
    """One network of one method: no comparison yet, and everything else is missing."""
    folder = tmp_path / "results/shaped"
    lines = (folder / "networks.csv").read_text().splitlines(keepends=True)
    (folder / "networks.csv").write_text("".join(lines[:4]))
    (folder / "ensembles.csv").unlink()
    made = report(folder, ("figures", "md", "csv")).report
    assert made.headline == "No kind of input weights has networks of both methods yet."
    assert len(made.gaps) == 2 * 4 + 2


def test_some_schemes_only(study, tmp_path):
    study("--scheme", "constrained", "--scheme", "uniform", "--quiet")
    records = read_records(tmp_path / "results/shaped", ShapedRecord)
    assert {record.input_weights for record in records} == {"uniform", "constrained"}


def test_a_dry_run_says_what_the_study_takes_at_most(study, tmp_path):
    printed = study("--dry-run").stdout
    assert "to be trained  30 networks (at most, before settings are chosen; nested design)" in printed
    assert printed.splitlines()[-1].startswith("in all         54 networks, ")
    assert not (tmp_path / "results").exists()


def test_a_dry_run_ends_where_a_wider_grid_is_not_tried_yet(whole_study):
    assert "at most, before settings are chosen" in whole_study("--widen", 5, "--dry-run").stdout


def test_a_dry_run_knows_what_double_precision_takes(clouds, tmp_path, monkeypatch):
    speed = {np.float32: 2e9, np.float64: 1e9}
    monkeypatch.setattr(cost, "measure_matmul_speed", lambda dtype, *_: speed[dtype])
    monkeypatch.setattr("elmlda.experiments.plan.CHEAP_IN_DOUBLE", 0)
    few, double, several = (
        Tune(data_dir=clouds, hidden=2000, weight_range=0.5, ridge=ridges).outlook(tmp_path)
        for ridges in (1.0, 1e-9, (1.0, 10.0, 100.0))
    )
    assert few.n_networks == double.n_networks == several.n_networks == 3
    assert double.seconds > 1.2 * few.seconds
    assert double.peak_bytes > 1.1 * few.peak_bytes
    assert several.seconds > 1.5 * few.seconds, "each ridge has a factorisation of its own"


def test_ridges_that_float32_is_not_enough_for(tune):
    """The whole network is computed in double, and its records say so."""
    records, _ = tune("--weight-norm", "0.001", "--ridge", "1e-12,1", "--repeats", 1)
    assert {record.precision for record in records} == {"double"}


def test_shaped_networks_on_mnist_are_no_verdict_on_the_paper(invoke, tmp_path):
    """MNIST's first image and class sums are all that such a small network takes time for."""
    words = "--hidden", "10", "--repeats", 2, "--quiet", "--ridge", 1, "--out", "run"
    assert invoke("sweep", *words, "--input-weights", "receptive-field-constrained").exit_code == 0
    result = invoke("report", "run")
    assert "run: Not the paper's input weights but receptive-field-constrained ones." in result.stdout
    assert not (tmp_path / "run/claims.csv").exists()
