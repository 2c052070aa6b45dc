"""What the paper states of Fig. 2, combining networks of fan-out 20, as data for the rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from elmlda import paper
from elmlda.core.arrays import FloatArray
from elmlda.ranges import format_ranges
from elmlda.reports.claims.evidence import ALL_SIZES, LDA, Evidence
from elmlda.reports.claims.rule import (
    ABOVE_ZERO,
    NETWORKS,
    PAIRS,
    RATE_MARGIN,
    Check,
    Region,
    Statement,
    near,
)
from elmlda.reports.estimates import (
    DIFFERENCE,
    DIFFERENCE_ROUNDING,
    NAN,
    RATE_ROUNDING,
    Sample,
    sample_mean,
    slope_weights,
    take_means,
)

SIZE_NAMES = {1: "one network", 2: "two networks", 20: "twenty networks"}
FULL = {
    1: (NETWORKS, "networks"),
    2: (PAIRS, "pairs"),
    20: (paper.ENSEMBLE_REPEATS, "ensembles"),
}
"""Networks combined -> repeats that make the verdict final, and what they are."""
FIG2 = partial(Check, paper_repeats=paper.ENSEMBLE_REPEATS)
"""A check of numbers that the paper has from ten repeats of each ensemble size, with new networks."""


def combine_networks(evidence: Evidence) -> Iterator[Statement]:
    """Fig. 2: one network is judged on all of the run, two on disjoint pairs, twenty on ensembles."""
    one = evidence.at((paper.LARGEST_FANOUT,), (LDA,))[:, 0, 0]
    most = paper.ENSEMBLE_SIZE
    printed = paper.ENSEMBLE_ERROR_PERCENT
    twenty = evidence.combined((most,))[:, 0]
    for size, rates in ((1, one), (2, evidence.pairs[:, 0]), (most, twenty)):
        name, rate = SIZE_NAMES[size], printed[size]
        yield _state_combined(
            size,
            f"ensemble-{size}",
            f"The error rate of {name} of fan-out {paper.LARGEST_FANOUT} is {rate:.2f} %",
            f"the rate of {name}",
            unit="%",
            checks={0: FIG2(sample_mean(rates), near(rate), rate, RATE_ROUNDING)},
        )
    two_and_twenty = take_means(evidence.combined((2, most))).combine(DIFFERENCE)
    for few, many, sample in (
        (1, 2, _compare_two_with_one(evidence.pairs, one)),
        (2, most, two_and_twenty),
    ):
        difference = printed[few] - printed[many]
        yield _state_combined(
            many,
            f"ensemble-{many}-beats-{few}",
            f"{SIZE_NAMES[many].capitalize()} combined have fewer errors than {SIZE_NAMES[few]}",
            f"{SIZE_NAMES[many]} better than {SIZE_NAMES[few].split()[0]}",
            checks={0: FIG2(sample, ABOVE_ZERO, difference, DIFFERENCE_ROUNDING)},
        )
    # The paper prints two points of that curve, which have no such slope, so there is no z.
    slope = -slope_weights(np.log2(ALL_SIZES[1:]))
    fall = take_means(evidence.combined(ALL_SIZES[1:])).combine(slope)
    yield _state_combined(
        most,
        "more-networks-fewer-errors",
        "Adding networks beyond two further reduces the error: it falls with each doubling",
        "more networks better",
        checks={0: FIG2(fall, ABOVE_ZERO)},
    )
    yield _state_combined(
        most,
        "twenty-networks-best",
        "The lowest error comes with twenty networks: no other number is lower by "
        f"{100 * RATE_MARGIN:.0f} %",
        "twenty networks best",
        checks={size: _check_no_better(evidence, size) for size in ALL_SIZES[:-1]},
        name=_name_sizes,
    )


def _state_combined(size: int, key: str, text: str, short: str, **rest: Any) -> Statement:
    """Judged on what is recorded of so many networks combined."""
    full, repeats_are = FULL[size]
    return Statement(
        key=key, text=text, short=short, where="Section 3, Fig. 2", full=full, repeats_are=repeats_are,
        **rest,
    )  # fmt: skip


def _compare_two_with_one(pairs: FloatArray, one: FloatArray) -> Sample:
    """What two lose against the mean of each alone, in the pairs whose networks are both recorded.

    The paper's single networks vary like all of ours, not like the mean of two.
    """
    pairs = pairs[~np.isnan(pairs[:, 1])]
    sample = sample_mean(pairs[:, 1] - pairs[:, 0])
    spread = sum(sample_mean(rates).paper_variance for rates in (pairs[:, 0], one))
    return replace(sample, paper_variance=spread)


def _check_no_better(evidence: Evidence, size: int) -> Check:
    """Twenty's rate minus that of another size, within an ensemble, is below 2 % of the printed rate.

    Nineteen networks differ from twenty by far less than ten ensembles can tell, so that twenty are
    better than each could never be shown. The claim fails if some size is better by more than 2 %,
    beyond chance.
    """
    most, printed = paper.ENSEMBLE_SIZE, paper.ENSEMBLE_ERROR_PERCENT
    sample = take_means(evidence.combined((most, size))).combine(DIFFERENCE)
    difference = printed[most] - printed.get(size, NAN)
    return FIG2(sample, Region(high=RATE_MARGIN * printed[most]), difference, DIFFERENCE_ROUNDING)


def _name_sizes(sizes: Sequence[int]) -> str:
    return f"{format_ranges(tuple(sizes))} network" + ("" if tuple(sizes) == (1,) else "s")
