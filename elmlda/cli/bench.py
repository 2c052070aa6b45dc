"""elmlda bench: the nested sweep against the machine's limit, and against other libraries."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from elmlda.cli.options import Ranges, network_options, one_network_options
from elmlda.errors import ElmldaError
from elmlda.ranges import format_ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmlda.bench.benchmark import (
        Absence,
        BenchmarkResult,
        Difference,
        Measurement,
        RacePlan,
        Standing,
    )
    from elmlda.cli.run import Setup

DEFAULT_OUT = Path("results/bench")


class Contestants(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Names with commas, all or none."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        from elmlda.bench.benchmark import CONTESTANTS

        names = {"all": CONTESTANTS, "none": ()}.get(value, tuple(value.split(",")))
        for name in names:
            if name not in CONTESTANTS:
                known = ", ".join(CONTESTANTS)
                self.fail(f"'{name}': expected all, none, or some of {known}, with commas.", param, ctx)
        return names


@click.command()
@click.option(
    "--fanout",
    type=Ranges(),
    default="1-10",
    show_default=True,
    help="Hidden units for each input.",
)
@click.option(
    "--peers",
    type=Contestants(),
    default="none",
    show_default=True,
    help="Who is timed besides: all, none, or some of independent, hpelm, sklearn-ridge, "
    "sklearn-lda, pinv, with commas.",
)
@click.option(
    "--peer-fanouts",
    type=Ranges(),
    help="Time the peers at these fan-outs only, and fit a law of cost for the others.  "
    "[default: all of --fanout]",
)
@click.option(
    "--growth",
    type=Ranges(),
    help="Time and peak memory of the nested network up to each of these fan-outs, each in a "
    "process of its own, such as 1,2,3,5,7,10,14,20.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help=f"Folder for tables and figures.  [default: {DEFAULT_OUT} if there are --peers or --growth]",
)
@network_options
@one_network_options
@click.pass_context
def bench(ctx: click.Context, /, **options: Any) -> None:
    """Time one network of the nested sweep against the bare matrix products, and against peers.

    The limit is the time that the same floating-point operations take at the speed of this
    machine's matrix multiplication, measured before and after in the same run, the faster of the
    two: in the hidden layer's precision for projection, Gram matrix and class sums, in float64 for
    the factorisation, the triangular solves and the scores.

    Peers train each fan-out by itself on the same weights: elmlda with one network for each
    (independent), and other libraries. Their error counts must be the nested network's, or the race
    is void. LDA's priors are then the class frequencies. Leave the machine alone meanwhile.
    """
    from elmlda.bench.benchmark import (
        Absence,
        RacePlan,
        find_differences,
        measure_nested,
        nested_sizes,
        rank_contestants,
        run_benchmark,
        run_race,
    )
    from elmlda.cli import run as runs
    from elmlda.machine import describe_machine

    contestants, growth = options["peers"], options["growth"]
    _refuse_what_does_not_fit(ctx)
    if contestants:
        options["priors"] = "frequencies"
    setup = runs.prepare({**options, "out": None, "design": "nested", "jobs": 1})
    plan = RacePlan(
        setup.dataset,
        options["fanout"],
        contestants,
        options["peer_fanouts"] or options["fanout"],
        setup.seed,
        setup.settings,
        setup.resources,
    )
    runs.refuse_what_cannot_be(setup, plan.sizes)
    if growth:
        runs.refuse_what_cannot_be(setup, nested_sizes(setup.dataset.n_inputs, growth[-1]))
    folder = options["out"] or (DEFAULT_OUT if contestants or growth else None)
    if folder:
        _prepare_folder(folder)

    result = run_benchmark(
        setup.dataset,
        plan.sizes,
        setup.seed,
        setup.settings,
        setup.resources,
        setup.problem(plan.sizes),
    )
    click.echo(format_network(result))
    if result.network.precision != setup.settings.precision:
        click.echo("float32 was not enough, took double as well")

    from elmlda.report import bench_report  # not before: the network's peak memory is its own

    measurements, absences = [measure_nested(plan, result)], []
    for outcome in run_race(plan):
        click.echo(format_outcome(outcome), err=True)
        if isinstance(outcome, Absence):
            absences.append(outcome)
            continue
        measurements.append(outcome)
        if folder:
            bench_report.write_measurements(folder, measurements)
    nested, others = measurements[0], measurements[1:]
    standings = rank_contestants(plan, nested, result.limit_seconds, others, absences)
    differences = find_differences(nested, others)
    if contestants:
        click.echo(f"\n{format_standings(standings, differences)}")
        if pair := bench_report.describe_best_pair(standings):
            click.echo(pair.replace("**", ""))
    if folder:
        title = f"{setup.dataset.name}, fan-outs {format_ranges(plan.fanouts)}, {_threads(plan)}"
        bench_report.write_measurements(folder, measurements)
        paths = bench_report.write_race(
            folder, title, standings, differences, describe_machine(), _command(ctx)
        )
        click.echo("\n" + "\n".join(map(str, paths)))
    refuse_void(differences)
    if growth and folder:
        _grow(setup, growth, folder)


def _refuse_what_does_not_fit(ctx: click.Context) -> None:
    """Refuse options that exclude each other, before anything is timed."""
    from elmlda.bench.benchmark import FEWEST_FITTED

    options = ctx.params
    fanouts, peer_fanouts = options["fanout"], options["peer_fanouts"]
    if not options["peers"]:
        if peer_fanouts:
            raise click.UsageError("--peer-fanouts needs --peers.")
        return
    if options["ridge"]:
        raise click.UsageError("--peers and --ridge exclude each other: the peers have none.")
    if options["priors"] != "frequencies" and ctx.get_parameter_source("priors") is not (
        ParameterSource.DEFAULT
    ):
        raise click.UsageError(
            f"--peers and --priors {options['priors']} exclude each other: scikit-learn's LDA agrees "
            "with the paper's only with the class frequencies."
        )
    if not peer_fanouts:
        return
    unknown = tuple(fanout for fanout in peer_fanouts if fanout not in fanouts)
    if unknown:
        raise click.UsageError(
            f"--peer-fanouts {format_ranges(unknown)}: not among --fanout {format_ranges(fanouts)}."
        )
    if peer_fanouts != fanouts and len(peer_fanouts) < FEWEST_FITTED:
        raise click.UsageError(
            f"--peer-fanouts {format_ranges(peer_fanouts)}: a sum over fan-outs "
            f"{format_ranges(fanouts)} is fitted to {FEWEST_FITTED} of them or more."
        )


def _prepare_folder(folder: Path) -> None:
    """Make the folder, before anything is timed for it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ElmldaError(
            f"{folder}: cannot be made: {error.strerror or error}. Use --out for another folder."
        ) from error


def _grow(setup: Setup, fanouts: tuple[int, ...], folder: Path) -> None:
    from elmlda.bench.benchmark import nested_sizes, run_growth
    from elmlda.cli import run as runs
    from elmlda.report.bench_report import write_growth

    n_inputs = setup.dataset.n_inputs
    click.echo(f"\n{'fan-outs':14} {'seconds':>8}   {'peak memory':>11}")
    points = []
    for point in run_growth(setup.ref, n_inputs, fanouts, setup.seed, setup.settings, setup.resources):
        points.append(point)
        label = f"1-{point.fanout}"
        click.echo(f"{label:14} {point.seconds:8.2f}   {point.peak_bytes / 1e9:8.2f} GB")
    predicted = [runs.peak_bytes(setup, nested_sizes(n_inputs, fanout)) for fanout in fanouts]
    paths = write_growth(folder, points, len(setup.dataset.train.labels), predicted)
    click.echo("\n" + "\n".join(map(str, paths)))


def refuse_void(differences: Sequence[Difference]) -> None:
    """End with an error if contestants did not compute the same thing."""
    voiding = [difference for difference in differences if difference.voids]
    if voiding:
        raise ElmldaError(
            f"THE RACE IS VOID: error counts differ, so the times must not be compared. "
            f"{'; '.join(map(str, voiding))}."
        )


def format_network(result: BenchmarkResult) -> str:
    """The nested network's parts, its sum, and the limit."""
    lines = [f"{name:14} {seconds:8.2f} s" for name, seconds in result.network.part_seconds.items()]
    lines += [
        f"{'nested sweep':14} {result.seconds:8.2f} s",
        f"{'limit':14} {result.limit_seconds:8.2f} s   at {result.hidden_speed / 1e9:.0f} and "
        f"{result.solver_speed / 1e9:.0f} GFLOP/s",
        f"{'ratio':14} {result.seconds / result.limit_seconds:8.3f}",
        f"{'peak memory':14} {result.peak_bytes / 1e9:8.2f} GB",
    ]
    return "\n".join(lines)


def format_outcome(outcome: Measurement | Absence) -> str:
    """A line to read while the race is on."""
    from elmlda.bench.benchmark import Absence

    where = f"{outcome.contestant:14} fan-out {format_ranges(outcome.fanouts):8}"
    if isinstance(outcome, Absence):
        return f"{where} ABSENT: {outcome.reason}"
    return f"{where} {outcome.seconds:8.2f} s"


def format_standings(standings: Sequence[Standing], differences: Sequence[Difference]) -> str:
    """The table of the race, and what is to be said of its rows."""
    lines = [
        f"{'contestant':14} {'methods':11} {'fan-outs':9} {'seconds':>9} {'':9} "
        f"{'× nested':>8}  errors agree"
    ]
    for row in standings:
        cells = f"{row.contestant:14} {row.methods:11} {row.fanouts:9}"
        if row.kind == "absent":
            lines.append(f"{cells} {'':9} ABSENT")
        else:
            lines.append(
                f"{cells} {row.seconds:9.2f} {row.kind:9} {row.ratio_to_nested:8.2f}  "
                f"{row.errors_agree}".rstrip()
            )
    lines += [f"{row.contestant}: {row.note}." for row in standings if row.note]
    lines += [f"Differs: {difference}." for difference in differences]
    return "\n".join(lines)


def _threads(plan: RacePlan) -> str:
    threads = plan.resources.threads
    return f"{threads} thread{'s' if threads > 1 else ''}"


def _command(ctx: click.Context) -> str:
    """The command as it was given, its options spelt in full."""
    words = ["elmlda", "bench"]
    for param in ctx.command.params:
        name = str(param.name)
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            words += [max(param.opts, key=len), _spell(ctx.params[name])]
    return shlex.join(words)


def _spell(value: Any) -> str:
    if not isinstance(value, tuple):
        return str(value)
    return format_ranges(value) if isinstance(value[0], int) else ",".join(value)


# The nested design in one process is what is timed.
bench.params = [param for param in bench.params if param.name != "design"]
