"""Networks of LDA-ELM as the paper writes it: the same errors as from PI-ELM's solution."""

import numpy as np
import pytest

from elmlda.core.solve import SingularCovarianceError
from elmlda.networks.train import run_network
from elmlda.settings import NetworkSettings, Resources

PARTS = {"projection", "activation", "gram", "factorisation", "solve", "lda", "test"}


def run_direct(dataset, seed, size, settings=None, resources=None):
    rng = np.random.default_rng(seed)
    return run_network(dataset, rng, (size,), settings, resources, ("lda",), direct=True)


@pytest.mark.parametrize(("fanout", "errors"), [(1, 685), (2, 505)])
def test_mnist_reference_counts(mnist, fanout, errors):
    """By an independent prototype whose weights are default_rng(0)'s, to within one."""
    found = run_direct(mnist, 0, 784 * fanout, resources=Resources(threads=2))
    np.testing.assert_allclose(found.lda_errors, [errors], atol=1, rtol=0)
    assert (found.sizes, found.n_test, found.precision) == ((784 * fanout,), 10_000, "mixed")
    assert found.pi_errors == found.pi_constant_errors == ()
    wrong = np.count_nonzero(found.posteriors.argmax(axis=1) != mnist.test.labels)
    assert (wrong,) == found.lda_errors


@pytest.mark.parametrize(
    "settings",
    [
        NetworkSettings(),
        NetworkSettings(precision="double", activation="sine", priors="frequencies"),
        NetworkSettings(ridge=3.0, weight_range=2.0),
    ],
    ids=["defaults", "double", "ridge"],
)
def test_it_is_the_network_that_derives_from_pi(make_dataset, settings):
    dataset = make_dataset(n_train=401, n_test=199, n_inputs=9, n_classes=4, dtype=np.uint8)
    found = run_direct(dataset, 11, 9, settings, Resources(chunk=64))
    derived = run_network(dataset, np.random.default_rng(11), (9,), settings)
    assert found.lda_errors == derived.lda_errors
    assert 0 < found.lda_errors[0] < 150, "too easy or too hard to show anything"
    np.testing.assert_allclose(found.posteriors, derived.posteriors, atol=1e-3)  # float32 outputs
    assert found.precision == settings.precision


def test_every_part_is_timed(make_dataset):
    found = run_direct(make_dataset(), 0, 6)
    assert set(found.part_seconds) == PARTS
    assert min(found.part_seconds.values()) > 0
    assert sum(found.part_seconds.values()) <= found.seconds


def test_mixed_that_is_not_enough_is_computed_in_double_and_said(make_dataset):
    """Inputs so small that tanh is nearly linear: eight units of five inputs are nearly dependent."""
    dataset = make_dataset(n_inputs=5)
    mixed, double = (
        NetworkSettings(input_scale=0.05, precision=precision) for precision in ("mixed", "double")
    )
    found, expected = (run_direct(dataset, 2, 8, settings) for settings in (mixed, double))
    assert found.precision == "double"
    assert found.lda_errors == expected.lda_errors
    np.testing.assert_array_equal(found.posteriors, expected.posteriors)


def test_no_more_samples_than_units_are_refused(make_dataset):
    with pytest.raises(SingularCovarianceError, match="at most 37 hidden units"):
        run_direct(make_dataset(n_train=40), 0, 40)


@pytest.mark.parametrize(
    ("methods", "sizes"), [(("pi",), (6,)), (("pi", "lda"), (6,)), (("lda",), (3, 6))]
)
def test_only_lda_of_one_size_can_be_direct(make_dataset, methods, sizes):
    with pytest.raises(ValueError, match="direct is for method 'lda' at one size"):
        run_network(make_dataset(), np.random.default_rng(0), sizes, methods=methods, direct=True)
