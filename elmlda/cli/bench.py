"""elmlda bench: the nested sweep against the machine's limit."""

from __future__ import annotations

from typing import Any

import click

from elmlda.cli.options import Ranges, network_options, resource_options


@click.command()
@click.option("--fanout", type=Ranges(), default="1-10", show_default=True)
@network_options
@resource_options
def bench(**options: Any) -> None:
    """Time one network of the nested sweep against the bare matrix products.

    The limit is the time that the same floating-point operations take at the speed of this
    machine's matrix multiplication, measured before and after in the same run: in the hidden
    layer's precision for projection, Gram matrix and class sums, in float64 for the factorisation,
    the triangular solves and the scores.
    """
    import resource

    from elmlda.benchmark import run_benchmark
    from elmlda.cli import run as runs

    setup = runs.prepare({**options, "out": None})
    sizes = tuple(setup.dataset.n_inputs * fanout for fanout in options["fanout"])
    runs.refuse_what_cannot_be(setup, sizes)
    result = run_benchmark(
        setup.dataset, sizes, setup.seed, setup.settings, setup.resources, setup.problem(sizes)
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    for name, seconds in result.part_seconds.items():
        click.echo(f"{name:14} {seconds:8.2f} s")
    click.echo(f"{'nested sweep':14} {result.seconds:8.2f} s")
    click.echo(
        f"{'limit':14} {result.limit_seconds:8.2f} s   at {result.hidden_speed / 1e9:.0f} and "
        f"{result.solver_speed / 1e9:.0f} GFLOP/s"
    )
    click.echo(f"{'ratio':14} {result.seconds / result.limit_seconds:8.3f}")
    click.echo(f"{'peak memory':14} {peak:8.2f} GB")
