"""Options of elmlda bench alone: who races, over which fan-outs, and where it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from elmlda.cli.options import Ranges, together

DEFAULT_OUT = Path("results/bench")


class Contestants(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Names with commas, all or none."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        from elmlda.bench.race import CONTESTANTS

        names = {"all": CONTESTANTS, "none": ()}.get(value, tuple(value.split(",")))
        for name in names:
            if name not in CONTESTANTS:
                known = ", ".join(CONTESTANTS)
                self.fail(f"'{name}': expected all, none, or some of {known}, with commas.", param, ctx)
        return names


bench_options = together(
    click.option(
        "--fanout",
        type=Ranges(),
        default="1-10",
        show_default=True,
        help="Hidden units for each input.",
    ),
    click.option(
        "--peers",
        type=Contestants(),
        default="none",
        show_default=True,
        help="Who is timed besides: all, none, or some of independent, hpelm, sklearn-ridge, "
        "sklearn-lda, pinv, with commas.",
    ),
    click.option(
        "--peer-fanouts",
        type=Ranges(),
        help="Time the peers at these fan-outs only, and fit a law of cost for the others.  "
        "[default: all of --fanout]",
    ),
    click.option(
        "--growth",
        type=Ranges(),
        help="Time and peak memory of the nested network up to each of these fan-outs, each in a "
        "process of its own, such as 1,2,3,5,7,10,14,20.",
    ),
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Folder for tables and figures.  "
        f"[default: {DEFAULT_OUT} if there are --peers or --growth]",
    ),
)
