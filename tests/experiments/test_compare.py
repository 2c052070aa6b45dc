"""PI-ELM against LDA-ELM on other sets: against scikit-learn, and in the cases that go wrong."""

from dataclasses import replace

import numpy as np
import pytest
from plans import carry_out
from plans import make_plan as plan_of
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import StratifiedKFold

from elmlda.datasets import Dataset, Split, Table, load_source
from elmlda.errors import ElmldaError
from elmlda.experiments import compare
from elmlda.experiments.compare import CompareOne, divide, run_job
from elmlda.networks.jobs import job_generator
from elmlda.networks.steps import draw_layer
from elmlda.settings import DatasetRef


def make_plan(name="iris", sizes=None, repeats=1, n_folds=5, precision="double"):
    sizes, ref = sizes or {"none": (8, 20), "gcv": (8, 20)}, DatasetRef(name)
    wanted = sorted({size for of_rule in sizes.values() for size in of_rule})
    experiment = CompareOne(
        hidden=wanted, rules=tuple(sizes), repeats=repeats, folds=n_folds, seed=3,
        priors="frequencies", precision=precision,
    )  # fmt: skip
    plan = plan_of(experiment, compare.load_job_source(ref), ref, threads=1, chunk=1000)
    assert plan.sizes_by_rule == sizes
    return plan


def make_table(n_samples=60, n_inputs=3, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n_samples) % n_classes
    inputs = rng.normal(labels[:, None], 1, (n_samples, n_inputs))
    classes = ("a", "b", "c")[:n_classes]
    about = {"classes": classes, "is_standardised": True, "checksums": {"file": "x"}}
    return Table("made-up", Split(inputs, labels), **about)


@pytest.mark.parametrize("name", ["iris", "wine", "abalone", "satimage"])
@pytest.mark.parametrize("rule", ["none", "gcv"])
def test_the_same_predictions_as_scikit_learn(name, rule):
    """On the same hidden outputs: its ridge classifier, and its LDA where there is no ridge."""
    source = load_source(name)
    n_folds = 1 if isinstance(source, Dataset) else 5
    size = 2 * source.n_inputs
    plan = make_plan(name, {rule: (size,)}, n_folds=n_folds)
    for job in plan.jobs()[:2]:
        (record,) = run_job(job)
        dataset = divide(source, 3, job.key[0], job.key[1] - 1, n_folds)
        layer = draw_layer(dataset, job_generator(job), size, job.settings, job.resources)
        train, test = (layer.outputs(part.inputs) for part in (dataset.train, dataset.test))
        targets = np.eye(dataset.n_classes)[dataset.train.labels]
        gram = train.T @ train + record.ridge * np.eye(size)
        pi = (test @ np.linalg.solve(gram, train.T @ targets)).argmax(axis=1)
        assert record.pi_errors == (pi != dataset.test.labels).sum()
        # With an intercept its targets of -1 and 1 choose what PI's of 0 and 1 choose.
        ridge = RidgeClassifier(alpha=record.ridge or 1e-10, solver="cholesky")
        chosen = ridge.fit(train, dataset.train.labels).predict(test)
        assert record.pi_constant_errors == (chosen != dataset.test.labels).sum()
        if rule == "none":
            lda = LinearDiscriminantAnalysis(solver="lsqr").fit(train, dataset.train.labels)
            wrong = lda.predict(test) != dataset.test.labels
            assert record.lda_errors == wrong.sum()
            by_class = [int(wrong[dataset.test.labels == c].sum()) for c in range(dataset.n_classes)]
            assert record.lda_class_errors == " ".join(map(str, by_class))
        counts = np.bincount(dataset.test.labels)
        assert record.class_counts == " ".join(map(str, counts))
        assert (record.n_train, record.n_test) == (len(train), len(test))


def test_folds_are_stratified_and_cover_every_sample_once():
    table = load_source("wine")
    tested = []
    for fold in range(5):
        dataset = divide(table, 0, 2, fold, 5)
        sizes = [
            len(part)
            for _, part in StratifiedKFold(5).split(table.samples.inputs, table.samples.labels)
        ]
        assert abs(len(dataset.test.labels) - np.mean(sizes)) <= 1
        counts = np.bincount(dataset.test.labels) - np.bincount(table.samples.labels) / 5
        assert abs(counts).max() < 1
        np.testing.assert_allclose(dataset.train.inputs.mean(axis=0), 0, atol=1e-6)  # by itself alone
        tested.append(dataset.test.labels)
    np.testing.assert_array_equal(np.sort(np.concatenate(tested)), np.sort(table.samples.labels))
    other = divide(table, 0, 3, 0, 5)
    assert not np.array_equal(other.test.inputs[:20], divide(table, 0, 2, 0, 5).test.inputs[:20])


def test_a_set_with_its_own_split_keeps_it():
    source = load_source("satimage")
    assert divide(source, 0, 5, 0, 1) is source
    assert make_plan("satimage", {"gcv": (8,)}, n_folds=10).n_train == 4435


def test_what_is_recorded_is_not_computed_again():
    plan = make_plan(repeats=2)
    assert len(plan.jobs()) == 10
    everything = set(plan.keys())
    assert len(everything) == 2 * 5 * 2 * 2
    assert plan.jobs(everything) == []
    missing = (1, 3, 20, "gcv")
    (job,) = plan.jobs(everything - {missing})
    assert job.key == (1, 1 + 3)


def test_more_repeats_sizes_and_rules_change_no_record():
    small = make_plan(sizes={"none": (8,)})
    large = make_plan(sizes={"none": (8, 20), "gcv": (8, 20)}, repeats=2)
    one = carry_out(small)
    all_of_them = {record.key: record for record in carry_out(large)}
    assert [all_of_them[record.key] for record in one] == one
    assert len(all_of_them) == len(large.keys())


def test_processes_and_precision_change_nothing():
    double = carry_out(make_plan("digits", {"none": (64,)}, n_folds=2))
    plan = make_plan("digits", {"none": (64,)}, n_folds=2, precision="mixed")
    mixed = sorted(carry_out(plan, processes=2), key=lambda record: record.key)
    assert [(r.key, r.pi_errors, r.lda_errors) for r in mixed] == [
        (r.key, r.pi_errors, r.lda_errors) for r in double
    ]


def test_more_hidden_units_than_samples_need_a_ridge(monkeypatch):
    table = make_table(60)
    sizes = {"none": (10, 40), "gcv": (10, 40, 48, 200)}  # of 48 training samples
    monkeypatch.setattr(compare, "load_job_source", lambda ref: table)
    (job, *_) = make_plan(sizes=sizes).jobs()
    records = run_job(job)
    assert [(r.rule, r.n_hidden) for r in records] == [(rule, s) for rule in sizes for s in sizes[rule]]
    assert all(record.ridge > 0 for record in records if record.rule == "gcv")
    assert max(r.lda_errors for r in records if r.rule == "gcv") <= 8


@pytest.mark.parametrize("rule", ["none", "gcv"])
def test_a_constant_column_and_classes_of_two(monkeypatch, rule):
    table = make_table(62)
    labels = table.samples.labels.copy()
    labels[:] = np.arange(62) % 2
    labels[:2] = 2  # one in the training part, one in the test part, of two folds
    inputs = table.samples.inputs.copy()
    inputs[:, 1] = 7
    table = Table("made-up", Split(inputs, labels), classes=tuple("abc"), is_standardised=True)
    monkeypatch.setattr(compare, "load_job_source", lambda ref: table)
    for job in make_plan(sizes={rule: (5, 10)}, n_folds=2).jobs():
        for record in run_job(job):
            assert record.class_counts.split()[2] == "1"


def test_a_class_without_training_samples_is_refused(monkeypatch):
    table = make_table(61)
    labels = np.arange(61) % 2
    labels[0] = 2
    table = replace(table, samples=Split(table.samples.inputs, labels))
    monkeypatch.setattr(compare, "load_job_source", lambda ref: table)
    jobs = make_plan(sizes={"none": (5,)}, n_folds=2).jobs()
    with pytest.raises(ElmldaError, match="no sample of class c in the training part"):
        list(map(run_job, jobs))


@pytest.mark.filterwarnings("ignore::elmlda.core.solve.RankWarning")
def test_repeated_units_are_an_error_without_a_ridge_and_none_with(monkeypatch):
    """One input that is always zero: every hidden unit gives zero."""
    table = make_table(60, n_inputs=1)
    zeros = replace(table, samples=Split(np.zeros((60, 1)), table.samples.labels))
    monkeypatch.setattr(compare, "load_job_source", lambda ref: zeros)
    (job, *_) = make_plan(sizes={"none": (5,)}).jobs()
    with pytest.raises(ElmldaError, match="covariance is singular"):
        run_job(job)
    (job, *_) = make_plan(sizes={"gcv": (5,)}).jobs()
    (record,) = run_job(job)
    assert record.lda_errors == 8
