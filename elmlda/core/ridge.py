"""The ridge by generalised cross-validation: from the statistics alone, without a validation set.

With λ the ridge, H(λ) = A (G + λI)⁻¹ Aᵀ is the matrix that turns targets into PI's training scores, and

    GCV(λ) = K ‖T - H(λ)T‖² / (K - c · tr H(λ))²

is what leaving out each sample in turn would cost on average (Golub, Heath and Wahba, 1979), if c = 1.
With c = 1 it is known to choose too small a ridge now and then, and where there are fewer samples than
hidden units it often chooses none at all. c = 1.4 is Kim and Gu's remedy (2004), used here.

One eigendecomposition G = V diag(g) Vᵀ gives GCV for every λ. With fᵢ = ‖(VᵀS)ᵢ‖² / gᵢ, summed over
the r eigenvalues that are not zero,

    ‖T - H(λ)T‖² = (K - Σ fᵢ) + Σ fᵢ (λ / (gᵢ + λ))²
    tr H(λ)      = Σ gᵢ / (gᵢ + λ)

LDA-ELM is PI-ELM and a map between classes (see `elmlda.core.solve`), so one ridge serves both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import eigh

from elmlda.core.arrays import FloatArray
from elmlda.core.factor import rounding_tolerance
from elmlda.core.solve import LostPrecisionError, require_finite_gram
from elmlda.core.statistics import Statistics
from elmlda.errors import ElmldaValueError

PENALTY = 1.4
"""c above."""
SMALLEST = 1e-6
"""The smallest ridge, relative to the largest square sum of a hidden unit. Targets that can be fitted
exactly need none for GCV, but LDA's covariance does."""
STEPS_PER_DECADE = 4
LARGEST_SQUARE_SUM = 1e290
"""Of a hidden unit's square sum: results computed from it must not overflow float64."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """What GCV needs to know of the statistics."""

    eigenvalues: FloatArray
    """g, those that are not zero, ascending."""
    explained: FloatArray
    """f: the square sum of the targets along each."""
    n_samples: float

    @classmethod
    def of(cls, statistics: Statistics) -> Self:
        """Decompose the Gram matrix, in float64; refuse one whose square sums leave the range."""
        require_finite_gram(statistics.gram)
        if _largest_square_sum(statistics) > LARGEST_SQUARE_SUM:
            raise ElmldaValueError(
                f"hidden outputs have square sums above {LARGEST_SQUARE_SUM:g}, which no ridge fits.",
                "Use a smaller {weight_range} or smaller inputs.",
                weight_range=None,
            )
        values, vectors = eigh(statistics.gram.astype(np.float64), lower=True, overwrite_a=True)
        kept = values > _rounding(statistics)
        along = np.square(vectors[:, kept].T @ statistics.class_sums).sum(axis=1)
        return cls(values[kept], along / values[kept], statistics.n_samples)

    def gcv(self, ridge: float, penalty: float = PENALTY) -> float:
        """GCV at one ridge; infinite where the network has too many degrees of freedom for it."""
        shrunk = ridge / (self.eigenvalues + ridge)
        residual = max(0.0, self.n_samples - self.explained.sum())
        residual += float(self.explained @ np.square(shrunk))
        freedom = self.n_samples - penalty * float((1 - shrunk).sum())
        return self.n_samples * residual / freedom**2 if freedom > 0 else np.inf


def choose_ridge(statistics: Statistics) -> float:
    """The ridge that minimises GCV, up to ten times the largest eigenvalue.

    A float32 Gram matrix whose best ridge may lie below its rounding raises LostPrecisionError.
    """
    from scipy.optimize import minimize_scalar  # 15 MB that networks with a given ridge do without

    spectrum = Spectrum.of(statistics)
    if not len(spectrum.eigenvalues):  # every hidden output is zero: any ridge gives the same network
        return 1.0
    lowest = np.log10(max(_rounding(statistics), SMALLEST * _largest_square_sum(statistics)))
    highest = np.log10(spectrum.eigenvalues[-1]) + 1
    grid = np.linspace(lowest, highest, int((highest - lowest) * STEPS_PER_DECADE) + 2)
    at = int(np.argmin([spectrum.gcv(10**exponent) for exponent in grid]))
    if at == 0 and statistics.gram.dtype == np.float32:
        raise LostPrecisionError("the best ridge may lie below float32's rounding.")
    bounds = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
    found = minimize_scalar(
        lambda exponent: spectrum.gcv(10**exponent), bounds=bounds, method="bounded"
    )
    return float(10**found.x)


def _rounding(statistics: Statistics) -> float:
    """Eigenvalues up to this may be rounding errors."""
    tolerance = rounding_tolerance(statistics.n_hidden, statistics.gram.dtype)
    return tolerance * _largest_square_sum(statistics)


def _largest_square_sum(statistics: Statistics) -> float:
    return float(np.diagonal(statistics.gram).max())
