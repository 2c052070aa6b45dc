"""Records and run folders with known answers."""

import json

from checks import sign

from elmlda.core.calibration import N_BINS
from elmlda.datasets.catalogue import MNIST_SHA256
from elmlda.experiments.calibration import CalibrationRecord
from elmlda.experiments.ensemble import EnsembleRecord, MistakeRecord, PairRecord
from elmlda.experiments.sweep import SweepRecord
from elmlda.experiments.timing import TimingRecord, order_methods
from elmlda.runs.records import open_records

N_TEST = 10_000
RUN = {
    "dataset": "mnist",
    "sha256": MNIST_SHA256,
    "design": "nested",
    "seed": 0,
    "activation": "tanh",
    "weight_range": 0.5,
    "input_scale": 1 / 255,
    "ridge": 0.0,
    "priors": "uniform",
    "precision": "mixed",
}
MACHINE = {"cpu": "Abacus 7", "cores": 2, "memory_gb": 8.0, "blas": ["openblas 1", "openblas 2"]}


def sweep_records(percents):
    """Rates in per cent, fan-out -> one (PI, LDA) for each repeat, or (PI, PI with constant, LDA)."""
    return [
        SweepRecord(
            repeat, fanout, 784 * fanout, round(100 * pi), round(100 * (constant or [pi])[0]),
            round(100 * lda), N_TEST, 1.0, "mixed",
        )
        for fanout, rows in percents.items()
        for repeat, (pi, *constant, lda) in enumerate(rows)
    ]  # fmt: skip


def pair_records(percents, first=0):
    """Rates in per cent, one for each pair of networks from pair `first` on."""
    return [
        PairRecord(pair, 2 * pair, 2 * pair + 1, round(100 * percent), N_TEST)
        for pair, percent in enumerate(percents, start=first)
    ]


def ensemble_records(percents, combine="mean"):
    """Rates in per cent, size -> one for each repeat."""
    return [
        EnsembleRecord(repeat, size, combine, round(100 * percent), N_TEST)
        for size, rates in percents.items()
        for repeat, percent in enumerate(rates)
    ]


def mistake_records(n, repeat=0, size=20, combine="mean", labels=None):
    """The first n test samples, each taken for the class after its own."""
    return [
        MistakeRecord(
            repeat, size, combine, i, int(labels[i]), (int(labels[i]) + 1) % 10, 0.9 - i / 1e4, 0.05
        )
        for i in range(n)
    ]


def calibration_records(kinds):
    """(fan-out, size) -> (confidence, accuracy) in per cent of each group.

    Nine of ten samples are in the last bin, sure and right; the others share what is left.
    """
    return [
        _calibration_record(fanout, size, group, round(100 * confidence), round(100 * accuracy))
        for (fanout, size), groups in kinds.items()
        for group, (confidence, accuracy) in enumerate(groups)
    ]


def _calibration_record(fanout, size, group, confidence_sum, n_correct):
    n_sure, n_unsure = 9 * N_TEST // 10, N_TEST // 10
    unsure_sum, n_right = confidence_sum - n_sure, n_correct - n_sure
    unsure = min(N_BINS - 2, int(N_BINS * unsure_sum / n_unsure))
    bins = [
        " ".join(str({unsure: few, N_BINS - 1: many}.get(i, 0)) for i in range(N_BINS))
        for few, many in ((n_unsure, n_sure), (unsure_sum, n_sure), (n_right, n_sure))
    ]
    return CalibrationRecord(
        fanout, 784 * fanout, size, group, N_TEST, N_TEST - n_correct, confidence_sum / N_TEST,
        0.2, 3, 0.05, abs(unsure_sum - n_right) / N_TEST, *bins,
    )  # fmt: skip


def timing_records(seconds):
    """Seconds, fan-out -> one (PI, LDA, both) for each repeat.

    Of what a run takes beyond the repeat's PI-ELM, half is LDA's part and half no part's.
    """
    return [
        TimingRecord(
            repeat, fanout, 784 * fanout, method, 1 + order_methods(repeat, fanout).index(method),
            taken, *[row[0] / 6] * 5, (taken - row[0]) / 2, row[0] / 6,
        )
        for fanout, rows in seconds.items()
        for repeat, row in enumerate(rows)
        for method, taken in zip(("pi", "lda", "both"), row, strict=True)
    ]  # fmt: skip


def make_run(folder, run=None, experiments=None, **records):
    """Write a run's folder; records by the name of their file."""
    manifest = {
        "schema": 3,
        "elmlda": "0.1.0",
        "run": {**RUN, **(run or {})},
        "experiments": experiments or {},
        "commands": ["elmlda sweep"],
        "machines": [MACHINE],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_bytes(sign(json.dumps(manifest)))
    for name, rows in records.items():
        if rows:
            assert name == type(rows[0]).FILE.removesuffix(".csv")
            open_records(folder, manifest, type(rows[0])).append(rows)
    return folder
