"""The tables that commands print of an experiment's rows, within 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from elmlda import paper

if TYPE_CHECKING:
    import pandas as pd

    from elmlda.experiments.experiment import Experiment

NOTE = "± is half the width of the 95 % confidence interval of the mean."
FEWEST = 3
"""Repeats that an interval needs."""


def show_rows(experiment: Experiment, rows: pd.DataFrame) -> str:
    """The table of an experiment's rows."""
    show = {"sweep": _show_sweep, "ensemble": _show_ensemble, "timing": _show_timing}[experiment.name]
    table = show(rows, matches_paper(experiment))
    return f"{table}\n{NOTE}" if "±" in table else table


def matches_paper(experiment: Experiment) -> bool:
    """Whether the paper's numbers can stand beside ours: its data, weights and settings."""
    from elmlda.datasets.catalogue import MNIST_SHA256

    run = experiment.identity().run
    is_papers = run["sha256"] == MNIST_SHA256 and run.keys() <= {"dataset", "sha256", "seed", "design"}
    n_hidden = getattr(experiment, "n_hidden", paper.N_INPUTS * paper.LARGEST_FANOUT)
    return is_papers and n_hidden == paper.N_INPUTS * paper.LARGEST_FANOUT  # of ensembles


def _show_sweep(rows: pd.DataFrame, is_papers: bool) -> str:
    lines = []
    several = ["rule", "ridge"] if rows["rule"].nunique() > 1 or rows["ridge"].nunique() > 1 else []
    rows = rows.assign(ridge=rows["ridge"].where(rows["rule"] == "fixed"))
    for key, found in rows.groupby(["n_hidden", *several], dropna=False):
        size = key[0] if isinstance(key, tuple) else key
        fanout = found["fanout"].iloc[0]
        line = {"fan-out": f"{fanout:g}", "hidden": f"{size:,}"}
        if several:
            line["ridge"] = (
                found["rule"].iloc[0] if found["rule"].iloc[0] != "fixed" else f"{key[-1]:g}"
            )
        line["networks"] = f"{len(found):,}"
        printed = fanout in paper.FANOUTS and is_papers
        for name, numbers in (("pi", paper.PI_ERROR_PERCENT), ("lda", paper.LDA_ERROR_PERCENT)):
            line[f"{name.upper()}-ELM, %"] = _mean(100 * found[f"{name}_errors"] / found["n_test"])
            if is_papers:
                line[f"{name.upper()}, paper"] = f"{numbers[int(fanout)]:.2f}" if printed else ""
        # Where LDA has no solution in some networks, the comparison is of the others.
        means = found.dropna(subset="lda_errors")[["pi_errors", "lda_errors"]].mean()
        gain = 100 * (1 - means["lda_errors"] / means["pi_errors"]) if means["pi_errors"] else 0.0
        line["LDA better by"] = "" if gain != gain else f"{gain:.1f} %"
        lines.append(line)
    return lay_out(lines)


def _show_ensemble(rows: pd.DataFrame, is_papers: bool) -> str:
    lines = []
    for _, found in rows.groupby(["size", "combine"]):
        size, scheme = int(found["size"].iloc[0]), str(found["combine"].iloc[0])
        line = {"networks": f"{size:,}", "combined by": scheme, "ensembles": f"{len(found):,}"}
        line["errors, %"] = _mean(100 * found["errors"] / found["n_test"])
        if is_papers:
            number = paper.ENSEMBLE_ERROR_PERCENT.get(size)
            line["paper"] = "" if number is None else f"{number:.2f}"
        line["log-loss"] = f"{found['log_loss'].mean():.4f}"
        lines.append(line)
    return lay_out(lines)


def _show_timing(rows: pd.DataFrame, _is_papers: bool) -> str:
    lines = []
    for size, found in rows.groupby("n_hidden"):
        seconds = found.groupby("method")["cpu_seconds"].mean()
        line = {"fan-out": f"{found['fanout'].iloc[0]:g}", "pairs": f"{found['pair'].nunique():,}"}
        line |= {
            f"{name}, s": f"{seconds[name]:.2f}" for name in ("pi", "lda", "both") if name in seconds
        }
        line["LDA takes more by"] = f"{100 * (seconds['lda'] / seconds['pi'] - 1):.1f} %"
        lines.append(line | {"hidden": f"{size:,}"})
    return lay_out(lines)


def _mean(values: pd.Series[Any]) -> str:
    """Mean and half its 95 % interval, by Student's t; no interval of fewer than three."""
    from scipy import stats

    known = values.dropna()
    if not len(known):
        return "no solution"
    some = f" ({len(known)} of {len(values)})" if len(known) < len(values) else ""
    if len(known) < FEWEST:
        return f"{known.mean():.2f}{some}"
    half = stats.t.ppf(0.975, len(known) - 1) * known.std() / len(known) ** 0.5
    return f"{known.mean():.2f} ± {half:.2f}{some}"


def lay_out(lines: list[dict[str, str]]) -> str:
    """Columns side by side, aligned on the right."""
    columns = [[name, *(line.get(name, "") for line in lines)] for name in lines[0]]
    widths = [max(map(len, cells)) for cells in columns]
    rows = zip(*columns, strict=True)
    return "\n".join(
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows
    )
