"""What others report for shaped input weights on MNIST."""

from __future__ import annotations

MCDONNELL = (
    "M. D. McDonnell, M. D. Tissera, T. Vladusich, A. van Schaik and J. Tapson, PLoS ONE 10 (8), 2015, "
    "e0134254"
)
MCDONNELL_ERROR_PERCENT: dict[str, dict[int, float]] = {
    "uniform": {1600: 3.7, 8000: 1.8},
    "constrained": {1600: 3.5},
    "receptive-field-constrained": {1600: 2.3, 8000: 1.1},
}
"""Scheme -> hidden units -> test errors, as the authors' own example programs state them (January
2015, "about"; the last is the middle of 1.0 to 1.2). Their paper's abstract says: below 1 %."""
