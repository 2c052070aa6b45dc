"""Options of elmlda bench: what races, over which fan-outs, and where it is written."""

from __future__ import annotations

from pathlib import Path

from elmlda.cli.command import OUTPUT, flag, option, together
from elmlda.cli.options import fanouts_option, network_options, one_network_options
from elmlda.cli.values import Contestants, Ranges, UserPath

DEFAULT_OUT = Path("results/bench")

bench_options = together(
    fanouts_option("1-10"),
    option(
        "--peers",
        "What to time besides: all, none, or some of independent, hpelm, sklearn-ridge, sklearn-lda, "
        "pinv, with commas.",
        Contestants(),
        "none",
    ),
    option(
        "--peer-fanouts",
        "Time the peers at these fan-outs only, and fit a law of cost for the others.  "
        "[default: all of --fanout]",
        Ranges(),
    ),
    flag(
        "--precisions",
        "Time the nested network in every precision, against the limit of float32 and of its own.",
    ),
    option(
        "--growth",
        "Time and peak memory of the nested network up to each of these fan-outs, each in a process of "
        "its own, such as 1,2,3,5,7,10,14,20.",
        Ranges(),
    ),
    network_options,
    one_network_options,
    option(
        "--out",
        f"Folder for tables and figures.  [default: {DEFAULT_OUT} if there are --peers or --growth]",
        UserPath(),
        metavar="DIR",
        group=OUTPUT,
    ),
)
