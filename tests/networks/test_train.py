"""Whole networks: on MNIST against the reference counts, on small data against literal equations."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from elmlda.core.hidden import HiddenLayer
from elmlda.core.input_weights import draw_uniform_weights
from elmlda.core.solve import LostPrecisionError, RankWarning, SingularCovarianceError, solve_pi
from elmlda.datasets import Dataset, Split
from elmlda.errors import ElmldaError
from elmlda.networks import cost, jobs
from elmlda.networks.jobs import run_job
from elmlda.networks.steps import accumulate_statistics, resolve_priors, score_samples
from elmlda.networks.train import METHODS, run_network
from elmlda.settings import DatasetRef, NetworkJob, NetworkSettings, Resources

# Errors of 10,000, fan-out 1 to 20, by an independent prototype whose weights are
# default_rng(0).uniform(-0.5, 0.5, (n_hidden, 784)).
PI_ERRORS = [704, 515, 438, 402, 343, 328, 304, 302, 285, 278]
PI_ERRORS += [269, 267, 253, 244, 242, 224, 222, 219, 224, 226]
LDA_ERRORS = [685, 505, 406, 367, 328, 315, 296, 286, 281, 269]
LDA_ERRORS += [263, 254, 250, 243, 232, 224, 211, 219, 221, 215]

PARTS = {"projection", "activation", "gram", "factorisation", "solve", "lda", "test"}
DOUBLE = NetworkSettings(precision="double")


def fanouts(last: int) -> tuple[int, ...]:
    return tuple(784 * fanout for fanout in range(1, last + 1))


def run_seed(dataset, seed, sizes, settings=None, **resources):
    rng = np.random.default_rng(seed)
    return run_network(dataset, rng, sizes, settings, Resources(**resources))


def assert_same_counts(found, expected, within=1):
    for name in ("pi_errors", "pi_constant_errors", "lda_errors"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=within, rtol=0)


# MNIST


@pytest.fixture(scope="module")
def reference(mnist):
    """Fan-outs 1 to 3 of seed 0, as the defaults have it, with two threads."""
    return run_seed(mnist, 0, fanouts(3), threads=2)


def first(result):
    """The reference's fan-out 1, for comparison with a network of that alone."""
    counts = {
        name: getattr(result, name)[:1] for name in ("pi_errors", "pi_constant_errors", "lda_errors")
    }
    return type("Counts", (), counts)


def test_mnist_reference_counts(reference):
    np.testing.assert_allclose(reference.pi_errors, PI_ERRORS[:3], atol=1, rtol=0)
    np.testing.assert_allclose(reference.lda_errors, LDA_ERRORS[:3], atol=1, rtol=0)
    assert reference.sizes == fanouts(3)
    assert reference.n_test == 10_000
    assert reference.precision == "mixed"
    assert set(reference.part_seconds) == PARTS
    assert 0 < sum(reference.part_seconds.values()) <= reference.seconds


def test_mnist_posteriors_are_the_largest_networks(reference, mnist):
    found = reference.posteriors
    assert found.shape == (10_000, 10)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    errors = np.count_nonzero(found.argmax(axis=1) != mnist.test.labels)
    assert errors == reference.lda_errors[-1]


@pytest.mark.parametrize(
    ("settings", "resources"),
    [
        pytest.param(DOUBLE, Resources(threads=2), id="double"),
        pytest.param(None, Resources(threads=1, chunk=777), id="chunk 777, one thread"),
        pytest.param(None, Resources(threads=2, chunk=60_000), id="all at once"),
    ],
)
def test_mnist_counts_whatever_precision_chunk_and_threads(mnist, reference, settings, resources):
    found = run_network(mnist, np.random.default_rng(0), fanouts(1), settings, resources)
    assert_same_counts(found, first(reference))
    assert found.precision == (settings.precision if settings else "mixed")


def test_mnist_fanout_two_trained_alone(mnist, reference):
    found = run_seed(mnist, 0, fanouts(2)[1:], threads=2)
    assert abs(found.pi_errors[0] - reference.pi_errors[1]) <= 1
    assert abs(found.pi_constant_errors[0] - reference.pi_constant_errors[1]) <= 1
    assert abs(found.lda_errors[0] - reference.lda_errors[1]) <= 1


@pytest.mark.slow
def test_mnist_reference_counts_at_all_twenty_fanouts(mnist):
    found = run_seed(mnist, 0, fanouts(20), threads=2)
    np.testing.assert_allclose(found.pi_errors, PI_ERRORS, atol=1, rtol=0)
    np.testing.assert_allclose(found.lda_errors, LDA_ERRORS, atol=1, rtol=0)
    assert found.precision == "mixed"


def test_a_jobs_network_is_its_seed_sequences(mnist):
    settings, resources = NetworkSettings(activation="relu"), Resources(threads=2, chunk=5000)
    job = NetworkJob(DatasetRef("mnist"), 7, (3, 2), (20, 60), settings, resources)
    sequence = np.random.SeedSequence(7, spawn_key=(3, 2))
    expected = run_network(mnist, np.random.default_rng(sequence), (20, 60), settings, resources)
    found = run_job(job)
    np.testing.assert_array_equal(found.posteriors, expected.posteriors)
    assert_same_counts(found, expected, within=0)
    other = run_job(NetworkJob(DatasetRef("mnist"), 7, (3, 3), (20, 60), settings, resources))
    assert (other.posteriors != found.posteriors).mean() > 0.9


def test_a_jobs_dataset_is_loaded_once(monkeypatch, make_dataset):
    loaded = []

    def load(name, data_dir, label, drop):
        loaded.append((name, data_dir, label, drop))
        return replace(make_dataset(), checksums={"x": "1"})

    monkeypatch.setattr(jobs, "load_dataset", load)
    ref = DatasetRef("clouds", Path("somewhere")).expecting({"x": "1"})
    for key in range(3):
        run_job(NetworkJob(ref, 0, (key,), (5,)))
    assert loaded == [("clouds", Path("somewhere"), None, ())]


# Small data


def literal_errors(dataset, seed, size, settings):
    """Errors by the paper's equations in float64: PI, PI with a constant unit, LDA; and posteriors."""
    weights = np.random.default_rng(seed).uniform(
        -settings.weight_range, settings.weight_range, (size, dataset.n_inputs)
    )
    scale = settings.input_scale or dataset.input_scale
    activation = {"tanh": np.tanh, "sine": np.sin}[settings.activation]
    train, test = (
        activation(scale * part.inputs.astype(float) @ weights.T)
        for part in (dataset.train, dataset.test)
    )
    labels, n_classes = dataset.train.labels, dataset.n_classes
    n_samples = len(labels)
    rows = np.vstack([train, np.sqrt(settings.ridge) * np.eye(size)])
    targets = np.vstack([np.eye(n_classes)[labels], np.zeros((size, n_classes))])
    ones = np.concatenate([np.ones(n_samples), np.zeros(size)])
    plain = np.linalg.lstsq(rows, targets, rcond=None)[0]
    constant = np.linalg.lstsq(np.column_stack([ones, rows]), targets, rcond=None)[0]
    means = np.stack([train[labels == n].mean(axis=0) for n in range(n_classes)])
    within = train - means[labels]
    covariance = (within.T @ within + settings.ridge * np.eye(size)) / n_samples
    directions = np.linalg.solve(covariance, means.T)
    priors = np.bincount(labels) / n_samples if settings.priors == "frequencies" else 1 / n_classes
    offsets = np.log(priors) - np.einsum("nm,mn->n", means, directions) / 2
    all_scores = test @ plain, constant[0] + test @ constant[1:], offsets + test @ directions
    errors = [np.count_nonzero(s.argmax(axis=1) != dataset.test.labels) for s in all_scores]
    exponentials = np.exp(all_scores[2])
    return errors, exponentials / exponentials.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize(
    "settings",
    [
        DOUBLE,
        NetworkSettings(precision="double", ridge=3.0, weight_range=2.0, priors="frequencies"),
        NetworkSettings(precision="double", activation="sine", input_scale=0.7 / 255),
    ],
    ids=["defaults", "ridge", "sine"],
)
def test_networks_are_the_papers_equations(make_dataset, dtype, settings):
    dataset = make_dataset(n_train=401, n_test=199, n_inputs=9, n_classes=4, dtype=dtype)
    if dtype != np.uint8 and settings.input_scale:
        settings = NetworkSettings(precision="double", activation="sine", input_scale=0.7)
    sizes = (2, 5, 9)
    found = run_seed(dataset, 11, sizes, settings, chunk=64)
    for i, size in enumerate(sizes):
        expected, posteriors = literal_errors(dataset, 11, size, settings)
        assert [found.pi_errors[i], found.pi_constant_errors[i], found.lda_errors[i]] == expected
    assert 0 < found.lda_errors[-1] < 150, "too easy or too hard to show anything"
    np.testing.assert_allclose(found.posteriors, posteriors, atol=1e-6)


@pytest.mark.parametrize("precision", ["mixed", "double", "bfloat16"])
def test_nested_sizes_are_networks_trained_alone(make_dataset, precision):
    dataset, sizes = make_dataset(n_inputs=10), (1, 4, 10)
    settings = NetworkSettings(precision=precision)
    nested = run_seed(dataset, 3, sizes, settings)
    for i, size in enumerate(sizes):
        alone = run_seed(dataset, 3, (size,), settings)
        assert alone.sizes == (size,)
        assert alone.pi_errors[0] == nested.pi_errors[i]
        assert alone.pi_constant_errors[0] == nested.pi_constant_errors[i]
        assert alone.lda_errors[0] == nested.lda_errors[i]
    np.testing.assert_allclose(alone.posteriors, nested.posteriors, atol=1e-6)


@pytest.mark.parametrize(
    "methods", [("pi",), ("lda",), ("pi_constant",), ("lda", "pi"), {"pi_constant", "lda"}, ()]
)
def test_methods_that_are_not_asked_for_are_empty(make_dataset, methods):
    dataset = make_dataset()
    every = run_network(dataset, np.random.default_rng(5), (3, 6))
    found = run_network(dataset, np.random.default_rng(5), (3, 6), methods=methods)
    for method in METHODS:
        expected = getattr(every, f"{method}_errors") if method in methods else ()
        assert getattr(found, f"{method}_errors") == expected
    expected = every.posteriors if "lda" in methods else np.empty((0, 3), np.float32)
    np.testing.assert_array_equal(found.posteriors, expected)


def test_pi_alone_needs_no_covariance(make_dataset):
    dataset = make_dataset(n_train=10)
    with pytest.warns(RankWarning, match="40 hidden units have rank 10"):
        found = run_network(dataset, np.random.default_rng(0), (40,), DOUBLE, methods=("pi",))
    train, test = (
        np.tanh(part.inputs @ np.random.default_rng(0).uniform(-0.5, 0.5, (40, 6)).T)
        for part in (dataset.train, dataset.test)
    )
    scores = test @ np.linalg.pinv(train) @ np.eye(3)[dataset.train.labels]
    assert found.pi_errors == (np.count_nonzero(scores.argmax(axis=1) != dataset.test.labels),)


def test_a_method_that_does_not_exist(make_dataset):
    with pytest.raises(ValueError, match="expected some of"):
        run_network(make_dataset(), np.random.default_rng(0), (3,), methods=("pi", "svm"))


@pytest.mark.parametrize("chunk", [1, 7, 200, 399, 400, 401, 10_000])
def test_chunks_do_not_lose_a_sample(make_dataset, chunk):
    dataset = make_dataset()
    layer = HiddenLayer(draw_uniform_weights(np.random.default_rng(0), 6, 5))
    found = accumulate_statistics(layer, dataset.train.inputs, dataset.train.labels, 3, chunk)
    hidden = layer.outputs(dataset.train.inputs)
    np.testing.assert_allclose(np.tril(found.gram), np.tril(hidden.T @ hidden), rtol=1e-12)
    np.testing.assert_allclose(found.class_sums, hidden.T @ np.eye(3)[dataset.train.labels], rtol=1e-11)
    assert found.class_counts.tolist() == np.bincount(dataset.train.labels).tolist()
    pi = solve_pi(found, (2, 5))
    (scores,) = score_samples(layer, [pi.scores], dataset.test.inputs, chunk)
    expected = pi.scores(layer.outputs(dataset.test.inputs))
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)


def test_a_network_takes_from_its_generator_just_its_weights(make_dataset):
    dataset = make_dataset()
    rng, fresh = np.random.default_rng(4), np.random.default_rng(4)
    first, second = (run_network(dataset, rng, (5,)) for _ in range(2))
    fresh.uniform(size=(5, 6))
    assert_same_counts(run_network(dataset, fresh, (5,)), second, within=0)
    assert fresh.bit_generator.state == rng.bit_generator.state
    assert (first.posteriors != second.posteriors).any()


# Float32 that is not enough


def test_mixed_that_is_not_enough_is_computed_in_double_and_said(make_dataset):
    """Inputs so small that tanh is nearly linear: eight units of five inputs are nearly dependent."""
    dataset = make_dataset(n_inputs=5)
    mixed, double = (
        NetworkSettings(input_scale=0.05, precision=precision) for precision in ("mixed", "double")
    )
    rng, other = np.random.default_rng(2), np.random.default_rng(2)
    found = run_network(dataset, rng, (3, 8), mixed)
    expected = run_network(dataset, other, (3, 8), double)
    assert found.precision == expected.precision == "double"
    assert_same_counts(found, expected, within=0)
    np.testing.assert_array_equal(found.posteriors, expected.posteriors)
    assert rng.bit_generator.state == other.bit_generator.state
    layer = HiddenLayer(
        draw_uniform_weights(np.random.default_rng(2), 5, 8, dtype=np.float32), "tanh", 0.05
    )
    statistics = accumulate_statistics(layer, dataset.train.inputs, dataset.train.labels, 3, 100)
    with pytest.raises(LostPrecisionError):
        solve_pi(statistics, (3, 8))


def test_test_samples_that_are_too_large_for_float32_are_scored_in_double(make_dataset):
    dataset = make_dataset()
    far = replace(dataset.test, inputs=1e39 * dataset.test.inputs)
    settings = NetworkSettings(activation="relu", ridge=1.0)
    found = run_network(replace(dataset, test=far), np.random.default_rng(0), (20,), settings)
    assert found.precision == "double"


def test_double_that_does_not_fit_is_refused(make_dataset, monkeypatch):
    """The prediction that the run began with was for float32."""
    dataset, settings = make_dataset(n_inputs=5), NetworkSettings(input_scale=0.05)
    for free, held in ((10**7, 0), (0, 10**7)):
        monkeypatch.setattr(cost, "available_memory", lambda free=free: free)
        monkeypatch.setattr(cost, "held_memory", lambda held=held: held)
        with pytest.raises(ElmldaError, match=r"need 0\.08 GB of memory, 0\.01 GB are free\. Use a"):
            run_network(dataset, np.random.default_rng(2), (3, 8), settings)
    monkeypatch.setattr(cost, "available_memory", lambda: None)
    assert run_network(dataset, np.random.default_rng(2), (3, 8), settings).precision == "double"


def test_mixed_that_is_enough_stays_mixed(make_dataset):
    assert run_seed(make_dataset(n_inputs=5), 2, (3, 5)).precision == "mixed"


def test_units_that_are_linear_in_the_inputs_have_no_lda(make_dataset):
    settings = NetworkSettings(input_scale=1e-7)
    dataset = make_dataset(n_inputs=5)
    with (
        pytest.warns(RankWarning, match="12 hidden units have rank 5"),
        pytest.raises(SingularCovarianceError, match="12 hidden units"),
    ):
        run_seed(dataset, 0, (4, 12), settings)


def test_a_ridge_for_units_that_are_linear_in_the_inputs(make_dataset):
    settings = NetworkSettings(input_scale=1e-4, ridge=1e-9, precision="double")
    dataset = make_dataset(n_inputs=5)
    found = run_seed(dataset, 0, (4, 12), settings)
    for i, size in enumerate(found.sizes):
        expected, _ = literal_errors(dataset, 0, size, settings)
        assert [found.pi_errors[i], found.pi_constant_errors[i], found.lda_errors[i]] == expected


def test_fewer_samples_than_units(make_dataset):
    dataset = make_dataset(n_train=10)
    with (
        pytest.warns(RankWarning),
        pytest.raises(ElmldaError, match="10 samples in 3 classes can carry at most 7 hidden units"),
    ):
        run_seed(dataset, 0, (40,))
    found = run_seed(dataset, 0, (40,), NetworkSettings(ridge=0.1, precision="double"))
    expected, _ = literal_errors(dataset, 0, 40, NetworkSettings(ridge=0.1))
    assert [found.pi_errors[0], found.pi_constant_errors[0], found.lda_errors[0]] == expected


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "settings",
    [
        NetworkSettings(weight_range=1e39),
        NetworkSettings(input_scale=1e39),
        NetworkSettings(activation="relu", weight_range=1e200, precision="double"),
    ],
)
def test_hidden_outputs_too_large_for_any_precision(make_dataset, settings):
    dataset = make_dataset()
    try:
        found = run_seed(dataset, 0, (3, 6), settings)
    except ElmldaError:
        return
    # Tanh of what is huge is a step: in double there is nothing wrong with it.
    expected, _ = literal_errors(dataset, 0, 6, settings)
    assert [found.pi_errors[1], found.pi_constant_errors[1], found.lda_errors[1]] == expected


def test_a_class_without_training_samples(make_dataset):
    dataset = make_dataset()
    kept = dataset.train.labels != 1
    train = Split(dataset.train.inputs[kept], dataset.train.labels[kept])
    lacking = Dataset("lacking", train, dataset.test, classes=dataset.classes)
    for priors in ("uniform", "frequencies"):
        with pytest.raises(ElmldaError, match="no training sample of class 1"):
            run_seed(lacking, 0, (4,), NetworkSettings(priors=priors))


# Priors


def test_priors_by_name_and_by_numbers():
    counts = np.array([30, 10, 60])
    np.testing.assert_allclose(resolve_priors("uniform", counts), [1 / 3] * 3)
    np.testing.assert_allclose(resolve_priors("frequencies", counts), [0.3, 0.1, 0.6])
    np.testing.assert_allclose(resolve_priors("0.125,0.25,0.625", counts), [0.125, 0.25, 0.625])
    with pytest.raises(ElmldaError, match=r"^2 priors given, 3 classes in the data\.$"):
        resolve_priors("0.4,0.6", counts)


def test_priors_move_ldas_decisions_and_not_pis(make_dataset):
    dataset = make_dataset()
    equal, first = (
        run_seed(dataset, 0, (6,), NetworkSettings(priors=text)) for text in ("uniform", "1,1e-9,1e-9")
    )
    assert first.pi_errors == equal.pi_errors
    assert first.lda_errors[0] > equal.lda_errors[0]
    assert first.posteriors[:, 0].mean() > 0.9 > equal.posteriors[:, 0].mean()
