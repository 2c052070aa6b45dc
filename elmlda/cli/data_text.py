"""What elmlda data says of a data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmlda.text import printable

if TYPE_CHECKING:
    from elmlda.datasets import Dataset, DatasetInfo, FileCheck

WIDTH = 14


def describe_size(info: DatasetInfo) -> str:
    """As in 60,000 + 10,000 × 784, 10 classes."""
    counts = [info.n_train, info.n_test] if info.has_own_split else [info.n_train + info.n_test]
    n_samples = " + ".join(f"{count:,}" for count in counts)
    return f"{n_samples} × {info.n_inputs}, {len(info.classes)} classes"


def describe_check(check: FileCheck, width: int) -> str:
    """One line: whether a file is what it should be."""
    state = "ok " if check.ok else "BAD"
    known = "" if check.expected_sha256 or not check.ok else "  (no checksum to compare with)"
    return f"{state} {check.name:{width}} {check.message}{known}"


def describe_known(info: DatasetInfo) -> str:
    """What the catalogue says."""
    rows = {key: getattr(info, key) for key in ("title", "origin", "licence", "citation")}
    rows["folder"] = info.where
    if not info.is_here:
        rows |= {"size": describe_size(info), "": f"not here yet: elmlda data fetch {info.name}"}
    return "\n".join(f"{key:{WIDTH}} {value}" for key, value in rows.items())


def describe_content(dataset: Dataset) -> str:
    """What a network would get of it."""
    import numpy as np

    from elmlda.datasets.words import join_words

    shape = f", images of {' × '.join(map(str, dataset.image_shape))}" if dataset.image_shape else ""
    scaled = dataset.preparation.get("inputs") or f"multiplied by {dataset.input_scale:.6g}"
    rows = [("inputs", f"{dataset.n_inputs}{shape}, {scaled}")]
    if dataset.feature_names:
        rows.append(("", join_words(dataset.feature_names)))
    split = dataset.preparation.get("split", "its own")
    drawn = f" (rows {dataset.preparation['rows']})" if "rows" in dataset.preparation else ""
    rows.append(("split", f"{split}{drawn}"))
    parts = dataset.train, dataset.test
    counts = [np.bincount(part.labels, minlength=dataset.n_classes) for part in parts]
    classes = [*map(printable, dataset.classes), "all"]
    width = max(len("class"), *map(len, classes))
    rows.append(("samples", f"{'class':{width}} {'train':>7} {'test':>7}"))
    for name, *row in zip(classes, *([*c, c.sum()] for c in counts), strict=True):
        rows.append(("", f"{name:{width}} {row[0]:7,} {row[1]:7,}"))
    for i, (name, sha256) in enumerate(dataset.checksums.items()):
        rows.append(("" if i else "SHA-256", f"{sha256} {name}"))
    return "\n".join(f"{key:{WIDTH}} {printable(value)}" for key, value in rows)
