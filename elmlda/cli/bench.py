"""elmlda bench: the nested sweep against the machine's limit, and against other libraries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.command import GIVEN, Command, spell_command
from elmlda.cli.conduct import build
from elmlda.cli.options import field_options, out_option
from elmlda.cli.tables import format_table
from elmlda.cli.terminal import say
from elmlda.errors import ElmldaError
from elmlda.experiments.command_options import BenchOptions
from elmlda.experiments.options import Share

if TYPE_CHECKING:
    from elmlda.bench.race import RacePlan
    from elmlda.experiments.experiment import AnyPlan
    from elmlda.reports.model import Provenance


@click.command(cls=Command)
@field_options(BenchOptions)
@field_options(Share, "threads", "chunk")
@out_option("Folder for tables and figures.  [default: results/bench if there are --peers or --growth]")
@click.pass_context
def bench(ctx: click.Context, /, **options: Any) -> None:
    """Time one network of the nested sweep against the bare matrix products, and against peers.

    The limit is the time of the same operations at the speed of bare matrix products, in the hidden
    layer's precision and from the factorisation on in float64, measured before and after.

    Peers train each fan-out by itself on the same weights: elmlda with one network for each
    (independent), and other libraries. Their error counts must be the nested network's, or the race
    is void. LDA's priors are then the class frequencies. Keep the machine idle.
    """
    from elmlda.bench.limit import race_precisions, time_network
    from elmlda.bench.race import Outcome, run_race
    from elmlda.core.bfloat16 import choose_multiplier
    from elmlda.machine import describe_machine
    from elmlda.reports import race_text

    sweep, plan, folder = _prepare(ctx)
    timed = time_network(plan)
    say(race_text.format_network(timed))

    from elmlda.reports import race  # not before: the network's peak memory is its own
    from elmlda.reports.write import write_report

    if options["precisions"]:
        raced = race_precisions(plan, timed)
        say(f"\n{format_table(race.show_precisions(raced))}\nbfloat16 {choose_multiplier()}.")
        if folder:
            race.write_rows(raced, folder / "precisions.csv")
    outcome = Outcome.begin(plan, timed)
    for result in run_race(plan):
        say(race_text.format_result(result), err=True)
        outcome.add(result)
        if folder:
            race.write_measurements(folder, outcome.measurements)
    if plan.contestants:
        say(f"\n{format_table(race.show_standings(outcome.standings))}")
        say(race_text.format_remarks(outcome))
        if pair := race.describe_best_pair(outcome.standings):
            say(pair)
    if folder:
        race.write_measurements(folder, outcome.measurements)
        found = plan.title, outcome.standings, outcome.differences
        report = race.make_race_report(*found, describe_machine(), spell_command(ctx))
        say(race_text.format_paths(write_report(report, folder)))
    outcome.refuse_void()
    if options["growth"] and folder:
        _grow(sweep, options["growth"], folder, report.provenance)


def _prepare(ctx: click.Context) -> tuple[AnyPlan, RacePlan, Path | None]:
    """Read the options and make the folder, before anything is timed for it."""
    from elmlda.bench.growth import nested_sizes
    from elmlda.bench.race import RacePlan
    from elmlda.experiments.sweep import Sweep
    from elmlda.runs.files import make_folder

    options = ctx.params
    fanouts, contestants, growth = (options[name] for name in ("fanout", "peers", "growth"))
    if contestants and ctx.get_parameter_source("priors") not in GIVEN:
        options["priors"] = "frequencies"
    experiment, share = build(Sweep, options), build(Share, options)
    sweep = experiment.bind(None, share)
    races = sweep.dataset, fanouts, contestants, options["peer_fanouts"] or fanouts
    plan = RacePlan(*races, experiment.seed, sweep.settings, sweep.resources)
    try:
        plan.refuse_unfair()
    except ElmldaError as error:
        raise click.UsageError(error.for_command_line()) from error
    if growth:
        replace(experiment, hidden=nested_sizes(sweep.data.n_inputs, growth[-1])).bind(None, share)
    folder = options["out"] or (Path("results/bench") if contestants or growth else None)
    if folder:
        make_folder(folder)
    return sweep, plan, folder


def _grow(sweep: AnyPlan, fanouts: tuple[int, ...], folder: Path, by: Provenance) -> None:
    from elmlda.bench.growth import predict_growth, run_growth
    from elmlda.reports import race, race_text
    from elmlda.reports.write import write_report

    data, settings, points = sweep.dataset, sweep.settings, []
    network = data.n_inputs, fanouts, sweep.experiment.seed
    say(f"\n{race_text.GROWTH_HEADER}")
    for point in run_growth(sweep.ref, *network, settings, sweep.resources):
        say(race_text.format_growth(point))
        points.append(point)
    predicted = predict_growth(data, fanouts, settings, sweep.share.chunk)
    report = race.make_growth_report(points, len(data.train.labels), predicted, by)
    say(race_text.format_paths(write_report(report, folder)))
