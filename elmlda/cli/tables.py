"""Tables of an experiment's records for the terminal: declared columns, one printer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from elmlda import paper

if TYPE_CHECKING:
    from elmlda.experiments.experiment import AnyPlan

Row = Mapping[Any, Any]
WIDTH = 80
NOTE = "± is half the width of the 95 % confidence interval of the mean."


@dataclass(frozen=True)
class Column:
    """A column: its title in lines, the key of its values, and how they are written."""

    title: str
    key: str
    form: str = "{:.2f}"
    half: str | None = None
    """The key of half the width of its interval."""

    def cell(self, row: Row) -> str:
        """The number, with its interval if it has one; blank if it is not known."""
        value = row[self.key]
        if value != value:
            return ""
        text = _write(value, self.form)
        if not self.half:
            return text
        half = row[self.half]
        return f"{text} ± {_write(half, self.form)}" if half == half else text


def _write(value: Any, form: str) -> str:
    text = form.format(value)
    return text.removeprefix("-") if not text.strip("-0.") else text  # no "-0.00"


def rate(title: str, name: str) -> Column:
    """An error rate in per cent with its interval."""
    return Column(title, f"{name}_error_percent", half=f"{name}_interval")


def format_table(columns: Sequence[Column], rows: Iterable[Row]) -> str:
    """Columns side by side, right-aligned; those without a single value are left out."""
    rows = list(rows)
    cells = {column: [column.cell(row) for row in rows] for column in columns}
    shown = [[*column.title.split("\n"), *found] for column, found in cells.items() if any(found)]
    height = max(len(each) for each in shown)
    padded = [[""] * (height - len(each)) + each for each in shown]
    widths = [max(map(len, each)) for each in padded]
    gap = "  " if sum(widths) + 2 * len(widths) <= WIDTH else " "
    lines = (
        gap.join(f"{text:>{width}}" for text, width in zip(line, widths, strict=True))
        for line in zip(*padded, strict=True)
    )
    return "\n".join(line.rstrip() for line in lines)


def size_column(experiment: Any) -> Column:
    """The size as it was asked for: by fan-out, or by hidden units."""
    if getattr(experiment, "hidden", None) is not None:
        return Column("hidden\nunits", "n_hidden", "{:,}")
    return Column("fan-out", "fanout", "{:g}")


REPEATS = Column("repeats", "repeats", "{:,}")
SWEEP = (
    REPEATS,
    rate("PI-ELM\nerrors, %", "pi"),
    rate("LDA-ELM\nerrors, %", "lda"),
    Column("LDA\nfewer, %", "improvement_percent", "{:.1f}"),
)
PAPER_SWEEP = (
    Column("paper\nPI, %", "paper_pi_error_percent"),
    Column("paper\nLDA, %", "paper_lda_error_percent"),
    Column("paper\nfewer, %", "paper_improvement_percent", "{:.1f}"),
)
TIMING = (
    Column("fan-\nout", "fanout", "{:g}"),
    REPEATS,
    *(
        Column(f"{title}\ns", f"{name}_seconds", "{:#.4g}")
        for title, name in (("PI", "pi"), ("LDA", "lda"), ("both", "both"))
    ),
    Column("LDA extra\nalone, %", "overhead_percent", half="overhead_interval"),
    Column("LDA extra\nwith PI, %", "one_pass_overhead_percent", half="one_pass_overhead_interval"),
)
PAPER_TIMING = (
    Column("paper\nPI, s", "paper_pi_seconds", "{:.4g}"),
    Column("paper\nLDA, s", "paper_lda_seconds", "{:.4g}"),
    Column("paper\nextra, %", "paper_overhead_percent", "{:.1f}"),
)
CALIBRATION = (
    Column("fan-\nout", "fanout", "{:g}"),
    Column("net-\nworks", "size", "{:d}"),
    Column("repeats", "groups", "{:,}"),
    Column("log-loss\nnats", "log_loss", "{:.3f}", "log_loss_interval"),
    Column("Brier\nscore", "brier", "{:.3f}", "brier_interval"),
    Column("calibration\nerror", "ece", "{:.3f}", "ece_interval"),
    Column("confi-\ndence, %", "confidence_percent"),
    Column("accu-\nracy, %", "accuracy_percent"),
)
COMPARE = (
    Column("ridge", "rule", "{}"),
    Column("hidden\nunits", "n_hidden", "{:,}"),
    Column("networks", "networks", "{:,}"),
    rate("PI-ELM\nerrors, %", "pi"),
    rate("LDA-ELM\nerrors, %", "lda"),
    Column("PI − LDA\npoints", "difference", half="difference_interval"),
    Column("p", "p", "{:.2g}"),
)
SHAPED = (
    Column("input\nweights", "input_weights", "{}"),
    Column("fan-out", "fanout", "{:g}"),
    Column("repeats", "lda_repeats", "{:,}"),
    rate("PI-ELM\nerrors, %", "pi"),
    rate("LDA-ELM\nerrors, %", "lda"),
    Column("PI − LDA\npoints", "difference", half="difference_interval"),
)
TUNE = (
    Column("ridge", "ridge", "{:g}"),
    REPEATS,
    Column("PI-ELM\nerrors, %", "pi_error_percent"),
    Column("LDA-ELM\nerrors, %", "lda_error_percent"),
)


def show_ensemble(plan: AnyPlan, found: Iterable[Row]) -> str:
    """A column for each scheme."""
    experiment = plan.experiment
    is_papers = plan.is_papers_data and experiment.fanout == paper.LARGEST_FANOUT
    papers = paper.ENSEMBLE_ERROR_PERCENT if is_papers else {}
    rows: dict[int, dict[str, Any]] = {}
    for row in found:
        size, scheme = row["size"], row["combine"]
        cells = {scheme: row["error_percent"], f"{scheme}_interval": row["interval"]}
        shared = {"size": size, "repeats": row["repeats"], "paper": papers.get(size, float("nan"))}
        rows[size] = {**rows.get(size, {}), **shared, **cells}
    schemes = (
        Column(f"{name}\nerrors, %", name, half=f"{name}_interval") for name in experiment.schemes
    )
    columns = (Column("networks", "size", "{:d}"), REPEATS, *schemes, Column("paper\nmean, %", "paper"))
    return format_table(columns, (rows[size] for size in sorted(rows)))


def show_tune(experiment: Any, rows: Iterable[Row], records: Sequence[Any]) -> str:
    """The settings that were tried, and what each method chooses as options."""
    from elmlda.experiments.selection import METHODS, choose
    from elmlda.reports.rates import METHOD_NAMES

    kind = experiment.settings.input_weights
    size = "weight-range" if kind == "uniform" else "weight-norm"
    table = format_table((Column(size.replace("-", "\n"), "weight_size", "{:g}"), *TUNE), rows)
    lines = [
        f"{kind} input weights, {records[0].n_hidden:,} hidden units, "
        f"{records[0].n_validation:,} held-out samples",
        f"{table}\n",
    ]
    for choice in (choose(records, method) for method in METHODS):
        chosen = choice.chosen
        lines += [
            f"{METHOD_NAMES[choice.method]} has {chosen.error_percent:.2f} % errors on them with",
            f"  --input-weights {kind} --{size} {chosen.weight_size:g} --ridge {chosen.ridge:g}",
        ]
        lines += [f"  Its best lies at {edge.describe(size[7:])}." for edge in choice.edges]
    return "\n".join(lines)


COLUMNS: dict[str, tuple[tuple[Column, ...], tuple[Column, ...]]] = {
    "sweep": (SWEEP, PAPER_SWEEP),
    "timing": (TIMING, PAPER_TIMING),
    "calibration": (CALIBRATION, ()),
    "compare": (COMPARE, ()),
    "shaped": (SHAPED, ()),
}
"""Experiment -> its columns, and those that the paper's data have besides."""


def show_records(plan: AnyPlan, records: Sequence[Any]) -> str:
    """The table of an experiment's records."""
    experiment = plan.experiment
    rows = tabulate(experiment.name, records)
    if experiment.name == "ensemble":
        return show_ensemble(plan, rows)
    if experiment.name == "tune":
        return show_tune(experiment, rows, records)
    columns, papers = COLUMNS[experiment.name]
    first = (size_column(experiment),) if experiment.name == "sweep" else ()
    return format_table((*first, *columns, *(papers if plan.is_papers_data else ())), rows)


def tabulate(name: str, records: Sequence[Any]) -> list[Row]:
    """The rows that the experiment's report has."""
    module = import_module(f"elmlda.reports.subjects.{name}")
    return list(getattr(module, f"tabulate_{name}")(records).to_dict("records"))
