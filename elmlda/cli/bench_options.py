"""Options of elmlda bench: what races, over which fan-outs, and where it is written."""

from __future__ import annotations

from pathlib import Path

from elmlda.cli.command import flag, option, together
from elmlda.cli.options import field_options, out_option
from elmlda.cli.values import CONTESTANT_NAMES, RANGES
from elmlda.experiments.options import DataOptions, LayerOptions, RidgeOptions, Share

DEFAULT_OUT = Path("results/bench")

bench_options = together(
    option("--fanout", "Hidden units for each input: 1-20, or 1-10,12,15,20.", RANGES, "1-10"),
    option(
        "--peers",
        "What to time besides: all, none, or some of independent, hpelm, sklearn-ridge, sklearn-lda, "
        "pinv, with commas.",
        CONTESTANT_NAMES,
        "none",
    ),
    option(
        "--peer-fanouts",
        "Time the peers at these fan-outs only, and fit a law of cost for the others.  "
        "[default: all of --fanout]",
        RANGES,
    ),
    flag(
        "--precisions",
        "Time the nested network in every precision, against the limit of float32 and of its own.",
    ),
    option(
        "--growth",
        "Time and peak memory of the nested network up to each of these fan-outs, each in a process of "
        "its own, such as 1,2,3,5,7,10,14,20.",
        RANGES,
    ),
    field_options(DataOptions),
    field_options(LayerOptions),
    field_options(RidgeOptions, "ridge"),
    field_options(Share, "threads", "chunk"),
    out_option(
        f"Folder for tables and figures.  [default: {DEFAULT_OUT} if there are --peers or --growth]"
    ),
)
