"""The paper's own numbers, as printed: de Chazal, Tapson and van Schaik."""

from __future__ import annotations

FANOUTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20)
"""Fan-outs in the columns of Tables 1 and 2."""
N_INPUTS = 784
"""Number of pixels of an image."""
REPEATS = 200
"""Number of networks at each fan-out in Table 1."""
ENSEMBLE_REPEATS = 10
"""Number of ensembles of each size in Fig. 2."""
ENSEMBLE_SIZE = 20
"""Number of networks in Fig. 2's largest ensemble."""
LARGEST_FANOUT = 20
"""Largest fan-out of the tables, and the fan-out of Fig. 2's networks."""


def _by_fanout(*row: float) -> dict[int, float]:
    return dict(zip(FANOUTS, row, strict=True))


PI_ERROR_PERCENT = _by_fanout(
    7.20, 5.21, 4.32, 3.80, 3.45, 3.20, 3.00, 2.86, 2.74, 2.63, 2.49, 2.31, 2.15
)
"""Table 1, PI-ELM, mean of 200 repeats, by fan-out."""
LDA_ERROR_PERCENT = _by_fanout(
    6.84, 5.03, 4.17, 3.68, 3.35, 3.11, 2.92, 2.78, 2.66, 2.55, 2.42, 2.25, 2.08
)
"""Table 1, LDA-ELM, mean of 200 repeats, by fan-out."""
IMPROVEMENT_PERCENT = _by_fanout(4.9, 3.5, 3.3, 3.1, 2.9, 3.0, 2.6, 2.9, 2.8, 2.7, 2.6, 2.6, 3.3)
"""Table 1, % improvement of LDA-ELM over PI-ELM, by fan-out."""
PI_SECONDS = _by_fanout(
    6.2, 13.9, 24.9, 37.8, 53.3, 68.5, 88.2, 111.0, 136.0, 162.0, 228.0, 339.0, 630.0
)
"""Table 2, PI-ELM, training and testing, by fan-out."""
LDA_SECONDS = _by_fanout(
    6.2, 13.9, 25.2, 38.1, 54.0, 69.5, 90.6, 113.0, 140.0, 167.0, 238.0, 357.0, 702.0
)
"""Table 2, LDA-ELM, training and testing, by fan-out."""
RATE_DIGIT, IMPROVEMENT_DIGIT = 0.01, 0.1
"""Size of the last printed digit of an error rate and of an improvement, in per cent."""
ENSEMBLE_ERROR_PERCENT = {1: 2.08, 2: 1.86, 20: 1.69}
"""Points of Fig. 2 that the text states: number of networks -> error rate."""
AVERAGE_IMPROVEMENT_PERCENT = 3.1
"""Section 3 and the conclusion: LDA-ELM's mean relative improvement over all fan-outs."""
LARGEST_OVERHEAD_PERCENT = 12.0
"""Conclusion: upper bound of LDA-ELM's additional time, for fan-outs up to 20."""
