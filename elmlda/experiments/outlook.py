"""What a run would do and take, before it does: the dry run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from elmlda.core.bfloat16 import Multiplier
from elmlda.datasets import Dataset
from elmlda.experiments.run_spec import RunSpec
from elmlda.networks.cost import Problem, Speeds, count_operations, measure_speeds

OVERHEAD = 1.15
"""What a network takes beyond its floating-point operations at matrix-multiply speed."""

SMALL = 1e12
"""Operations that take seconds."""


@dataclass(frozen=True)
class Outlook:
    """What is missing in a run's folder, and what it takes to compute it."""

    spec: RunSpec
    design: str
    n_recorded: int
    """Rows that are there and are asked for."""
    n_networks: int
    """Networks that are to be trained."""
    peak_bytes: int
    """Of all processes together, or of one worker of a cluster."""
    seconds: float
    """On this machine, without a cluster."""
    speed: float
    """Operations a second of this machine's matrix multiplication just now."""
    multiplier: Multiplier | None = None
    """What multiplies bfloat16 here, if the networks are of that precision."""

    def __str__(self) -> str:
        data, share = self.spec.data, self.spec.share
        where = (
            f"by the workers at {share.cluster}"
            if share.cluster
            else f"in {share.jobs} × {self.spec.resources.threads} threads"
        )
        lines = [
            f"folder         {self.spec.folder}",
            f"data           {data.name}: {_describe(data)}",
            f"recorded       {self.n_recorded:,} rows that the plan asks for",
            f"to be trained  {self.n_networks:,} networks ({self.design} design), {where}",
        ]
        if self.n_networks:
            lines += [
                f"peak memory    {self.peak_bytes / 1e9:.2f} GB"
                + (" for each worker" if share.cluster else ""),
                f"time           about {format_seconds(self.seconds)}"
                + (" without the cluster" if share.cluster else "")
                + f", from the {self.speed / 1e9:.0f} GFLOP/s that this machine's matrix "
                "multiplication reaches just now",
            ]
            lines += [f"bfloat16       {self.multiplier}"] if self.multiplier else []
        return "\n".join(lines)


def _describe(data: object) -> str:
    if not isinstance(data, Dataset):
        return f"{data.n_samples:,} samples"  # type: ignore[attr-defined]
    return f"{len(data.train.labels):,} to train on, {len(data.test.labels):,} to test on" + (
        "" if data.has_own_split else ", always the same"
    )


def estimate_seconds(problems: Iterable[Problem], precision: str) -> tuple[float, float]:
    """Time that networks take on this machine, and its speed in the hidden layer's precision."""
    operations = [(count_operations(problem), problem.in_double) for problem in problems]
    if not operations:
        return 0.0, 0.0
    # A small run must not wait for a careful measurement.
    is_small = sum(each.total for each, _ in operations) < SMALL
    effort = (512, 0.02) if is_small else (2048, 0.5)
    speeds = measure_speeds(precision, *effort)
    double = Speeds(*[speeds.solver] * 3)
    seconds = [each.seconds(double if in_double else speeds) for each, in_double in operations]
    return OVERHEAD * sum(seconds), speeds.hidden


def format_seconds(seconds: float) -> str:
    """As in 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
