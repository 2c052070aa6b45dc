"""LDA-ELM as the paper writes it: its own covariance, its own factorisation, no PI-ELM beside it.

`elmlda.core.solve.derive_lda` gets the same network from PI-ELM's solution for next to nothing. This is
what LDA-ELM costs alone, for Table 2. In sums over samples, Eq. (12) reads

    μ = S D⁻¹,    KΣ = AᵀA - S D⁻¹ Sᵀ

so one pass gives both, like PI-ELM's, and the covariance is the Gram matrix less N columns' products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elmlda.core.arrays import FloatArray
from elmlda.core.blas import add_gram, multiply, solve_lower
from elmlda.core.factor import bound_inverse, copy_in_double, factorise
from elmlda.core.solve import Rounding, require_every_class, require_finite_gram
from elmlda.core.statistics import Statistics
from elmlda.core.stopwatch import Stopwatch


@dataclass(frozen=True)
class DirectLda:
    """W of Eq. (16), transposed."""

    weights: FloatArray
    """Σ⁻¹μ, n_hidden × n_classes."""
    constants: FloatArray
    """The first row of W, n_classes."""

    def products(self, hidden: FloatArray) -> FloatArray:
        """μᵀΣ⁻¹a of hidden outputs (n_samples × n_hidden), in float64: n_samples × n_classes."""
        found = np.empty((len(hidden), len(self.constants)))
        multiply(hidden.astype(np.float64, copy=False), self.weights, found)
        return found

    def scores(self, products: FloatArray) -> FloatArray:
        """Scores, Eq. (15), from `products`."""
        return products + self.constants


def solve_lda(
    statistics: Statistics, priors: FloatArray, ridge: float = 0.0, watch: Stopwatch | None = None
) -> DirectLda:
    """Factorise KΣ + ridge·I, Eq. (12), and solve for W, Eq. (16), in float64.

    `watch` gets the parts "factorisation" and "solve" as `solve_pi` has them, and "lda" for what PI-ELM
    has not: the change from Gram matrix to covariance, the means and the constants.

    Raises
    ------
    SingularCovarianceError
        If Σ has no inverse. A float32 Gram matrix raises LostPrecisionError instead.
    """
    watch = watch or Stopwatch()
    counts, n_samples = statistics.class_counts, statistics.n_samples
    require_finite_gram(statistics.gram)
    with watch.part("factorisation"):
        factor = copy_in_double(statistics.gram, ridge)
        square_sums = np.diagonal(factor).copy()
    with watch.part("lda"):
        require_every_class(counts)
        # Here in float64, and not in the Gram matrix: in float32 the difference would be rounded.
        add_gram(statistics.class_sums / np.sqrt(counts), factor, alpha=-1.0)
    with watch.part("factorisation"):
        _factorise_covariance(factor, square_sums, statistics, Rounding.of(statistics, ridge))
    with watch.part("lda"):
        means = np.divide(statistics.class_sums, counts, order="F")
        weights = means.copy(order="F")
    with watch.part("solve"):
        solve_lower(factor, weights)
        solve_lower(factor, weights, transposed=True)
    with watch.part("lda"):
        weights *= n_samples  # from (KΣ)⁻¹μ to Σ⁻¹μ
        constants = np.log(priors) - np.einsum("mn,mn->n", means, weights) / 2
    return DirectLda(weights, constants)


def _factorise_covariance(
    covariance: FloatArray, square_sums: FloatArray, statistics: Statistics, rounding: Rounding
) -> None:
    """Replace KΣ + ridge·I by its Cholesky factor; rounding is that of the Gram matrix."""
    n_hidden = statistics.n_hidden
    is_factored = factorise(covariance, square_sums, statistics.gram.dtype) == n_hidden
    inverse = bound_inverse(covariance) if is_factored else np.inf
    rounding.require_covariance(n_hidden, statistics.class_counts, inverse)
