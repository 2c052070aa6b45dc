"""Table 2, and what LDA-ELM takes beyond PI-ELM, from records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from elmlda import paper
from elmlda.core.arrays import FloatArray
from elmlda.experiments.timing import METHODS, TimingRecord
from elmlda.reports.estimates import estimate_mean


def tabulate_timing(records: Sequence[TimingRecord]) -> pd.DataFrame:
    """Table 2: a row for each hidden size, the paper's numbers beside ours.

    Repeats that lack a method (the run was stopped there) do not count.

    Columns
    -------
    …_seconds : elapsed, the fastest of the repeats
    overhead_percent : what LDA-ELM as the paper writes it takes beyond PI-ELM, the mean of
        `TimingRecord.overhead_percent`, which is from within its own runs: the claim is judged by this
    one_pass_overhead_percent : the same for LDA-ELM beside PI-ELM in one pass
    …_interval : half the width of the 95 % interval of the mean, empty for a single repeat
    elapsed_overhead_percent : from the seconds, 100·(LDA/PI - 1), which carries the machine's noise
    paper_… : the paper's, empty at sizes that it does not have
    """
    cells = pivot_timings(records)
    return pd.DataFrame([_row(rows) for _, rows in cells.groupby(level="n_hidden")])


def list_overheads(records: Sequence[TimingRecord]) -> dict[int, FloatArray]:
    """Fan-out -> what LDA-ELM as the paper writes it takes beyond PI-ELM, one for each repeat."""
    percents = pivot_timings(records)["overhead_percent", "lda"]
    fanouts = percents.index.unique("fanout")
    return {int(fanout): percents.xs(fanout, level="fanout").to_numpy() for fanout in fanouts}


def pivot_timings(records: Sequence[TimingRecord]) -> pd.DataFrame:
    """Seconds and overheads of each method: a row for each repeat and size that has every method."""
    index, values = ["repeat", "fanout", "n_hidden"], ["seconds", "overhead_percent"]
    frame = pd.DataFrame(
        [[getattr(record, name) for name in (*index, "method", *values)] for record in records],
        columns=[*index, "method", *values],
    )
    columns = pd.MultiIndex.from_product([values, list(METHODS)])
    return frame.pivot(index=index, columns="method", values=values).reindex(columns=columns).dropna()


def _row(rows: pd.DataFrame) -> dict[str, Any]:
    _, fanout, n_hidden = rows.index[0]
    fastest = rows["seconds"].min()
    paper_pi, paper_lda = (
        seconds.get(fanout, np.nan) for seconds in (paper.PI_SECONDS, paper.LDA_SECONDS)
    )
    return {
        "fanout": fanout,
        "n_hidden": n_hidden,
        "repeats": len(rows),
        **{f"{method}_seconds": fastest[method] for method in METHODS},
        **_mean("overhead", rows["overhead_percent", "lda"]),
        **_mean("one_pass_overhead", rows["overhead_percent", "both"]),
        "elapsed_overhead_percent": 100 * (fastest["lda"] / fastest["pi"] - 1),
        "paper_pi_seconds": paper_pi,
        "paper_lda_seconds": paper_lda,
        "paper_overhead_percent": 100 * (paper_lda / paper_pi - 1),
    }


def _mean(name: str, percents: pd.Series[float]) -> dict[str, float]:
    mean = estimate_mean(percents.to_numpy())
    return {f"{name}_percent": mean.value, f"{name}_interval": mean.half}
