"""Peers: each computes what elmlda computes, and says why when it cannot."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from elmlda.bench import peers
from elmlda.bench.peers import PEERS, PeerTask, why_absent, why_too_large
from elmlda.core.input_weights import draw_uniform_weights
from elmlda.networks.train import run_network
from elmlda.settings import NetworkSettings, Resources

SIZES = (6, 12, 24)


@pytest.fixture
def task(dataset):
    return PeerTask.prepare(dataset, NetworkSettings(), chunk=100)


def require(name):
    if reason := why_absent(name, "tanh"):
        pytest.skip(f"{name} {reason}")


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("name", PEERS)
@pytest.mark.filterwarnings("ignore:An ill-conditioned matrix")  # scikit-learn's ridge in float32
def test_peers_make_elmldas_errors(dataset, name, precision):
    require(name)
    settings = NetworkSettings(weight_range=1.0, priors="frequencies", precision=precision)
    network = run_network(dataset, np.random.default_rng(3), SIZES, settings, Resources())
    assert network.precision == precision
    expected = {"pi": network.pi_errors, "lda": network.lda_errors}
    assert expected["pi"] != expected["lda"]
    task = PeerTask.prepare(dataset, settings, chunk=100)
    dtype = np.float32 if precision == "mixed" else np.float64
    weights = draw_uniform_weights(np.random.default_rng(3), 6, SIZES[-1], 1.0, dtype)
    peer = PEERS[name]
    for size, errors in zip(SIZES, expected[peer.method], strict=True):
        predicted = peer.predict(task, weights[:, :size])
        assert np.count_nonzero(predicted != dataset.test.labels) == errors > 20


def test_targets_of_plus_and_minus_one_choose_the_same_classes(dataset):
    rng = np.random.default_rng(0)
    hidden = np.tanh(dataset.train.inputs @ rng.uniform(-1, 1, (6, 20)))
    one_hot = np.eye(4)[dataset.train.labels]
    scores, signed = (
        hidden @ np.linalg.lstsq(hidden, t, rcond=None)[0] for t in (one_hot, 2 * one_hot - 1)
    )
    assert np.ptp(signed - 2 * scores, axis=1).max() < 1e-12


def test_uniform_priors_would_not_agree_on_unequal_classes(dataset):
    """Why a race has the class frequencies as priors."""
    few = dataset.train.labels != 0
    few[np.flatnonzero(~few)[:30]] = True
    unequal = replace(
        dataset,
        train=replace(
            dataset.train, inputs=dataset.train.inputs[few], labels=dataset.train.labels[few]
        ),
    )
    counts = {}
    for priors in ("uniform", "frequencies"):
        settings = NetworkSettings(weight_range=1.0, priors=priors, precision="double")
        network = run_network(unequal, np.random.default_rng(3), (12,), settings, Resources())
        counts[priors] = network.lda_errors[0]
    task = PeerTask.prepare(unequal, NetworkSettings(precision="double"), chunk=100)
    weights = draw_uniform_weights(np.random.default_rng(3), 6, 12, 1.0)
    predicted = PEERS["sklearn-lda"].predict(task, weights)
    errors = np.count_nonzero(predicted != unequal.test.labels)
    assert errors == counts["frequencies"] != counts["uniform"]


def test_inputs_are_scaled_as_the_hidden_layer_scales_them(make_dataset):
    dataset = make_dataset(dtype=np.uint8)
    task = PeerTask.prepare(dataset, NetworkSettings(), chunk=100)
    assert task.train_inputs.dtype == np.float32
    assert np.array_equal(task.test_inputs, dataset.test.inputs * np.float32(1 / 255))
    task = PeerTask.prepare(dataset, NetworkSettings(input_scale=0.5, precision="double"), chunk=100)
    assert task.train_inputs.dtype == np.float64
    assert np.array_equal(task.train_inputs, dataset.train.inputs * 0.5)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "hpelm", None)
    reason = why_absent("hpelm", "tanh")
    assert reason.startswith("not installed (")
    assert "hpelm" in reason
    assert reason.endswith("): pip install 'elmlda[bench]'")


def test_a_library_that_fails_at_import_is_named(monkeypatch):
    def fail(name):
        raise AttributeError("module 'numpy' has no attribute 'float'")

    monkeypatch.setattr(peers.importlib, "import_module", fail)
    assert why_absent("hpelm", "tanh") == (
        "cannot be imported: AttributeError: module 'numpy' has no attribute 'float'"
    )


def test_an_activation_that_a_peer_lacks_is_named():
    assert why_absent("hpelm", "relu") == "has no relu units like elmlda's, only tanh"
    assert why_absent("pinv", "relu") is None


@pytest.mark.parametrize("name", PEERS)
def test_what_does_not_fit_in_memory_is_refused(monkeypatch, task, name):
    assert why_too_large(name, task, 24) is None
    monkeypatch.setattr(peers, "available_memory", lambda: None)
    assert why_too_large(name, task, 10**6) is None
    monkeypatch.setattr(peers, "available_memory", lambda: 2 * peers.LIBRARY_BYTES)
    assert why_too_large(name, task, 24) is None
    reason = why_too_large(name, task, 20_000)
    assert reason.startswith("20,000 hidden units need ")
    assert reason.endswith(" GB of memory, 0.2 GB are free")


@pytest.mark.parametrize("name", PEERS)
def test_memory_grows_with_hidden_units(task, name):
    needed = [PEERS[name].needed_bytes(task, n_hidden) for n_hidden in (10, 100, 1000)]
    assert needed == sorted(needed)
    n_train = len(task.train_labels)
    if name != "hpelm":
        assert needed[1] > 4 * n_train * 100
