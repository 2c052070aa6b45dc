"""What a run would do and take: the dry run, and the line that a run starts with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from elmlda.core.bfloat16 import Multiplier
from elmlda.datasets import Dataset
from elmlda.networks.cost import Speeds, count_operations, measure_speeds
from elmlda.networks.steps import find_multiplier

if TYPE_CHECKING:
    from elmlda.experiments.plan import Plan

OVERHEAD = 1.15
"""What a network takes beyond its floating-point operations at matrix-multiply speed."""

SMALL = 1e12
"""Operations that take seconds."""


@dataclass(frozen=True, eq=False)
class Outlook:
    """What is missing in a run's folder, and what it takes to compute it."""

    plan: Plan[Any]
    n_wanted: int
    """Records that are asked for."""
    n_recorded: int
    """Those of them that are there."""
    missing: Sequence[Any]
    """The jobs that are left to do."""

    @property
    def n_networks(self) -> int:
        """Networks that are to be trained."""
        return len(self.missing)

    @property
    def peak_bytes(self) -> int:
        """Of all processes together, or of one worker of a cluster."""
        return self.plan.peak_bytes() if self.missing else 0

    @property
    def multiplier(self) -> Multiplier | None:
        """What multiplies bfloat16 here, if the networks are of that precision."""
        return None if self.plan.share.cluster else find_multiplier(self.plan.settings.precision)

    @property
    def seconds(self) -> float:
        """On this machine, without a cluster."""
        return self._seconds_and_speed[0]

    @property
    def speed(self) -> float:
        """Operations a second of this machine's matrix multiplication just now."""
        return self._seconds_and_speed[1]

    @cached_property
    def _seconds_and_speed(self) -> tuple[float, float]:
        problems = [self.plan.job_problem(job) for job in self.missing]
        if not problems:
            return 0.0, 0.0
        operations = [count_operations(problem) for problem in problems]
        # A small run must not wait for a careful measurement.
        is_small = sum(each.total for each in operations) < SMALL
        effort = (512, 0.02) if is_small else (2048, 0.5)
        speeds = measure_speeds(self.plan.settings.precision, *effort)
        double = Speeds(*[speeds.solver] * 3)
        seconds = (
            each.seconds(double if problem.in_double else speeds)
            for each, problem in zip(operations, problems, strict=True)
        )
        return OVERHEAD * sum(seconds), speeds.hidden

    def __str__(self) -> str:
        data, share = self.plan.data, self.plan.share
        where = (
            f"by the workers at {share.cluster}"
            if share.cluster
            else f"in {share.jobs} × {self.plan.resources.threads} threads"
        )
        lines = [
            f"folder         {self.plan.folder}",
            f"data           {data.name}: {_describe(data)}",
            f"recorded       {self.n_recorded:,} of {self.n_wanted:,} records",
            f"to be trained  {self.n_networks:,} networks ({self.plan.design} design), {where}",
        ]
        if self.missing:
            lines += [
                f"peak memory    {self.peak_bytes / 1e9:.2f} GB"
                + (" for each worker" if share.cluster else ""),
                f"time           about {format_seconds(max(self.seconds, 1.0))}"
                + (" without the cluster" if share.cluster else "")
                + f", at the {self.speed / 1e9:.0f} GFLOP/s of matrix products here and now",
            ]
            lines += [f"bfloat16       {self.multiplier}"] if self.multiplier else []
        return "\n".join(lines)


def _describe(data: Any) -> str:
    if not isinstance(data, Dataset):
        return f"{data.n_samples:,} samples"
    return f"{len(data.train.labels):,} to train on, {len(data.test.labels):,} to test on" + (
        "" if data.has_own_split else ", always the same"
    )


def format_seconds(seconds: float) -> str:
    """As in 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
