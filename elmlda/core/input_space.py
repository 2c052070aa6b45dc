"""What input weights are drawn for, and may be shaped by."""

from __future__ import annotations

from dataclasses import dataclass

from elmlda.core.arrays import IntArray, Rows
from elmlda.errors import ElmldaValueError
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
            raise ElmldaValueError(
                f"{settings.input_weights} input weights need images, and these samples have no rows "
                "and columns of pixels.",
                "Use uniform or constrained ones ({input_weights}).",
                input_weights=None,
            )
        rows, columns = self.image_shape
        if rows * columns != self.n_inputs:
            raise ElmldaValueError(
                f"images of {rows} × {columns} have {rows * columns} pixels, the samples have "
                f"{self.n_inputs} inputs."
            )
        if settings.min_field > self.n_inputs:
            raise ElmldaValueError(
                f"the smallest receptive field has {settings.min_field} pixels, an image "
                f"{self.n_inputs}.",
                "Lower {min_field}.",
                min_field=None,
            )
