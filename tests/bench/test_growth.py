"""The law of cost, and the nested networks that it is fitted to."""

import numpy as np
import pytest

from elmlda.bench.growth import CostLaw, fit_law, nested_sizes

SIZES = [784 * f for f in (1, 2, 4, 7, 10)]


@pytest.mark.parametrize(
    "law",
    [
        CostLaw(60_000, 1.1e-11, 3e-11, 2e-8),
        CostLaw(60_000, 1e-11, 0.0, 5e-8),
        CostLaw(60_000, 0.0, 2e-10, 0.0),
    ],
)
def test_fitting_recovers_known_coefficients(law):
    fitted = fit_law(60_000, SIZES, [law.seconds(size) for size in SIZES])
    for name in ("gram", "factorisation", "projection"):
        assert getattr(fitted, name) == pytest.approx(getattr(law, name), rel=1e-6, abs=1e-16)


def test_fitting_is_robust_to_noise_and_never_negative():
    rng = np.random.default_rng(0)
    law = CostLaw(60_000, 1e-11, 1e-11, 1e-8)
    for _ in range(50):
        noisy = [law.seconds(size) * rng.uniform(0.95, 1.05) for size in SIZES]
        fitted = fit_law(60_000, SIZES, noisy)
        assert min(fitted.gram, fitted.factorisation, fitted.projection) >= 0
        total, expected = (sum(x.seconds(784 * f) for f in range(1, 11)) for x in (fitted, law))
        assert total == pytest.approx(expected, rel=0.05)


def test_the_law_is_what_it_says():
    law = CostLaw(100, 2.0, 3.0, 5.0)
    assert law.seconds(10) == 2.0 * 100 * 10**2 + 3.0 * 10**3 + 5.0 * 100 * 10


def test_sizes_of_a_nested_network():
    assert nested_sizes(784, 3) == (784, 1568, 2352)
