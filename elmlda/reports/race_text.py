"""What `elmlda bench` prints besides tables: a network's parts, the race as it goes on, remarks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from elmlda.bench.growth import GrowthPoint
from elmlda.bench.limit import TimedNetwork
from elmlda.bench.race import Absence, Measurement, Outcome
from elmlda.networks.cost import Speeds
from elmlda.ranges import format_ranges

GROWTH_HEADER = f"{'fan-outs':14} {'seconds':>8}   {'peak memory':>11}"


def format_network(timed: TimedNetwork) -> str:
    """The nested network's parts, its sum, and the limit."""
    lines = [f"{name:14} {seconds:8.2f} s" for name, seconds in timed.network.part_seconds.items()]
    lines += [
        f"{'nested sweep':14} {timed.seconds:8.2f} s",
        f"{'limit':14} {timed.limit_seconds:8.2f} s   at {_format_speeds(timed.speeds)} GFLOP/s",
        f"{'ratio':14} {timed.seconds / timed.limit_seconds:8.3f}",
        f"{'peak memory':14} {timed.peak_bytes / 1e9:8.2f} GB",
    ]
    if timed.network.precision != timed.precision:
        lines.append("float32 was not enough, took double as well")
    return "\n".join(lines)


def _format_speeds(speeds: Speeds) -> str:
    """Of the hidden layer, of the Gram matrix where it is multiplied faster, and of the solver."""
    hidden = (speeds.hidden,) if speeds.gram == speeds.hidden else (speeds.hidden, speeds.gram)
    return " and ".join(f"{speed / 1e9:.0f}" for speed in (*hidden, speeds.solver))


def format_result(result: Measurement | Absence) -> str:
    """A line of progress."""
    where = f"{result.contestant:14} fan-out {format_ranges(result.fanouts):8}"
    if isinstance(result, Absence):
        return f"{where} ABSENT: {result.reason}"
    return f"{where} {result.seconds:8.2f} s"


def format_remarks(outcome: Outcome) -> str:
    """What is said below the table of the race."""
    notes = [f"{row.contestant}: {row.note}." for row in outcome.standings if row.note]
    return "\n".join([*notes, *(f"Differs: {difference}." for difference in outcome.differences)])


def format_growth(point: GrowthPoint) -> str:
    """A line of growth's table."""
    label = f"1-{point.fanout}"
    return f"{label:14} {point.seconds:8.2f}   {point.peak_bytes / 1e9:8.2f} GB"


def format_paths(paths: Iterable[Path]) -> str:
    """Where something was written, below an empty line."""
    return "\n".join(["", *map(str, paths)])
