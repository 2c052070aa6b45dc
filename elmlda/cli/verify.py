"""elmlda verify: random rows of a run, recomputed by the paper's equations."""

from __future__ import annotations

from pathlib import Path

import click

from elmlda.cli.options import Command
from elmlda.cli.terminal import say


@click.command(cls=Command)
@click.argument("folder", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--n", default=12, show_default=True, type=click.IntRange(1), help="Rows to recompute.")
@click.option("--fanout", type=click.IntRange(1), help="Only rows up to this fan-out, which are fast.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Chooses the rows.")
def verify(folder: Path, n: int, fanout: int | None, seed: int) -> None:
    """Recompute random rows of a RUN by the paper's equations, literally, in float64.

    Nothing that trained the run is used for it. Counts may differ by one or two where the run was
    computed in float32 or on another processor; the exit code is 1 if one differs by more.
    """
    import numpy as np

    from elmlda.verify import summarise, verify_run

    rows = verify_run(folder, n, np.random.default_rng(seed), fanout_up_to=fanout)
    say(rows.drop(columns=["precision", "n_test"]).dropna(axis=1, how="all").to_string(index=False))
    found = summarise(rows)
    say(found)
    if found.worst > 2:
        click.get_current_context().exit(1)
