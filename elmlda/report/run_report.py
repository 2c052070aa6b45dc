"""Everything that is made from one run's records."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from elmlda.datasets.catalogue import MNIST_SHA256
from elmlda.errors import ElmldaError
from elmlda.experiments import ensemble, sweep, timing
from elmlda.report.figures import plot_ensemble, plot_sweep
from elmlda.report.tables import tabulate_ensemble, tabulate_sweep, tabulate_timing
from elmlda.store import RecordFile, read_manifest, write_atomically


def write_report(folder: Path) -> list[Path]:
    """Write the run's tables and figures into its folder, for the records that it has."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise ElmldaError(f"{folder}: no manifest.json, so no run of elmlda's. Name a run's folder.")
    is_mnist = manifest["run"].get("sha256") == MNIST_SHA256
    sweep_records = RecordFile(folder / sweep.FILE, sweep.SweepRecord).read()
    ensemble_records = RecordFile(folder / ensemble.FILE, ensemble.EnsembleRecord).read()
    timing_records = RecordFile(folder / timing.FILE, timing.TimingRecord).read()
    if not (sweep_records or ensemble_records or timing_records):
        raise ElmldaError(f"{folder}: no records yet. Run elmlda sweep --out {folder} first.")
    paths = []
    if sweep_records:
        table = tabulate_sweep(sweep_records)
        paths += [_write_csv(table, folder / "table1.csv")]
        paths += plot_sweep(table, folder / "fig1", beside_paper=is_mnist)
    if timing_records:
        paths += [_write_csv(tabulate_timing(timing_records), folder / "table2.csv")]
    if ensemble_records:
        table = tabulate_ensemble(ensemble_records)
        n_hidden = manifest["experiments"].get("ensemble", {}).get("n_hidden")
        paths += [_write_csv(table, folder / "ensemble_table.csv")]
        paths += plot_ensemble(table, folder / "fig2", beside_paper=is_mnist and n_hidden == 15680)
    return paths


def _write_csv(table: pd.DataFrame, path: Path) -> Path:
    write_atomically(path, table.to_csv(index=False, float_format="%.4f").encode())
    return path
