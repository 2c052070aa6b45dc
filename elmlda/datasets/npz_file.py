"""A data set from the user's own .npz file, read without unpickling anything."""

from __future__ import annotations

from pathlib import Path

from elmlda.datasets.array_file import open_npz
from elmlda.datasets.dataset import Dataset, Split, Table
from elmlda.datasets.stored import StoredArray, assemble_split, index_labels, require_same_length
from elmlda.datasets.words import as_text, join_words
from elmlda.errors import ElmldaError

SPLIT_KEYS = ("x_train", "y_train", "x_test", "y_test")
TABLE_KEYS = ("x", "y")


def load_npz(path: Path) -> Dataset | Table:
    """Read a .npz file, as `numpy.savez` and `numpy.savez_compressed` write it.

    It holds `x_train`, `y_train`, `x_test` and `y_test`, or `x` and `y` for a table that has no split
    of its own; `X` will do, too. Inputs are numbers, a sample first: n_samples × …; labels are whole
    numbers or strings, one dimension. Inputs of uint8 stay bytes and count as 0 to 1; all others are
    standardised.

    Raises
    ------
    ElmldaError
        If the file can't be read, is damaged, needs unpickling, would not fit in memory, or its
        arrays do not belong together.
    """
    name = as_text(path.name).removesuffix(".npz")
    arrays = _read_arrays(path)
    if len(arrays) == len(SPLIT_KEYS):
        dataset = assemble_split(name, arrays)
        return dataset if arrays["x_train"].is_byte else dataset.standardise()
    inputs, labels = arrays.values()
    require_same_length(inputs, labels)
    classes, indices = index_labels(labels)
    return Table(
        name,
        Split(inputs.flatten(), indices),
        classes,
        is_standardised=not inputs.is_byte,
        checksums={key: array.sha256 for key, array in arrays.items()},
        input_scale=inputs.input_scale,
        image_shape=inputs.image_shape,
    )


def _read_arrays(path: Path) -> dict[str, StoredArray]:
    """The arrays that make a data set, by name."""
    with open_npz(path) as archive:
        # As scikit-learn's users write them; where both are there, the small letter's is meant.
        found = {key.replace("X", "x", 1): key for key in archive.keys if key.startswith("X")}
        found |= {key: key for key in archive.keys}
        keys = SPLIT_KEYS if any(key in found for key in SPLIT_KEYS) else TABLE_KEYS
        missing = [key for key in keys if key not in found]
        if missing:
            raise ElmldaError(
                f"{path}: no {join_words(missing)} in it, expected {join_words(SPLIT_KEYS)}, or "
                f"x and y; it has {join_words(archive.keys) if archive.keys else 'nothing'}."
            )
        arrays = {key: archive.read(found[key]) for key in keys}
    for key, array in arrays.items():
        array.require_inputs() if key.startswith("x") else array.require_labels()
    return arrays
