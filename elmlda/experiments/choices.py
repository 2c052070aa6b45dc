"""What the paper leaves open: the hidden units' function and the scale of the inputs.

Each combination is a sweep of its own, with the same seed: all of them have the same input weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elmlda.errors import ElmldaError
from elmlda.experiments.command_options import ChoicesOptions
from elmlda.experiments.experiment import Plans, Study
from elmlda.experiments.options import Share, select
from elmlda.experiments.sweep import Sweep
from elmlda.experiments.tune import read_values


def name_choice(activation: str, input_scale: float) -> str:
    """Name of the combination's folder, such as tanh-255: inputs are divided by 255."""
    return f"{activation}-{1 / input_scale:.6g}"


@dataclass(frozen=True, kw_only=True)
class Choices(ChoicesOptions, Study):
    """A sweep of every combination of activation and input scale."""

    default_folder = Path("results/choices")
    part_column = "choice"

    def plans(self, folder: Path | None, share: Share) -> Plans:
        divisors = read_values(self.divisors)
        if divisors[0] <= 0:
            raise ElmldaError(f"divisor is {divisors[0]:g}: expected a number above zero.")
        options = select(self, Sweep)
        for activation in dict.fromkeys(self.activations):
            for divisor in divisors:
                name, scale = name_choice(activation, 1 / divisor), 1 / divisor
                sweep = Sweep(activation=activation, input_scale=scale, posteriors=False, **options)
                yield name, sweep.bind((folder or self.default_folder) / name, share)
