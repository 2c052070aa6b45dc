"""What input weights are drawn for, and may be shaped by."""

from __future__ import annotations

from dataclasses import dataclass

from elmlda.core.arrays import IntArray, Rows
from elmlda.errors import ElmldaError
from elmlda.settings import NetworkSettings


@dataclass(frozen=True)
class InputSpace:
    """What input weights are drawn for, and may be shaped by."""

    n_inputs: int
    image_shape: tuple[int, int] | None = None
    """Rows and columns, where inputs are the pixels of an image, row by row."""
    samples: Rows | None = None
    """Training samples."""
    labels: IntArray | None = None
    """Their class indices."""

    def require(self, settings: NetworkSettings) -> None:
        """Refuse receptive fields that cannot be."""
        if not settings.has_fields:
            return
        if self.image_shape is None:
            raise ElmldaError(
                f"--input-weights {settings.input_weights} needs images, and these samples have no "
                "rows and columns of pixels: use uniform or constrained."
            )
        rows, columns = self.image_shape
        if rows * columns != self.n_inputs:
            raise ElmldaError(
                f"images of {rows} × {columns} have {rows * columns} pixels, the samples have "
                f"{self.n_inputs} inputs."
            )
        if settings.min_field > self.n_inputs:
            raise ElmldaError(
                f"min-field is {settings.min_field}: expected no more than the {self.n_inputs} "
                "pixels of an image."
            )
