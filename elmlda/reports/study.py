"""The report of `elmlda shaped`: PI-ELM and LDA-ELM with the same budget, each at its own best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

import pandas as pd

from elmlda import paper
from elmlda.errors import ElmldaError
from elmlda.experiments.shaped import TUNE_FOLDER, settle
from elmlda.experiments.shaped_networks import Setting, ShapedEnsembleRecord, ShapedRecord
from elmlda.reports import plots
from elmlda.reports.gaps import find_lack
from elmlda.reports.model import Column, Drawing, Report, Section, make_table
from elmlda.reports.provenance import join_provenance
from elmlda.reports.rates import METHOD_NAMES
from elmlda.reports.records import RunRecords, find_run, read_run
from elmlda.reports.subjects import tune
from elmlda.reports.subjects.shaped import (
    RATE_COLUMNS,
    describe_findings,
    name_images,
    show_table,
    tabulate_best,
    tabulate_shaped,
    tabulate_sizes,
)
from elmlda.settings import INPUT_WEIGHTS

BEST_COLUMNS = [
    Column("Input weights", "input_weights"),
    Column("Networks", "networks", ".0f"),
    Column("Repeats", "lda_repeats", ".0f"),
    *(
        replace(column, note=f"{name}_images")
        for name, column in zip(("pi", "lda", "difference"), RATE_COLUMNS, strict=True)
    ),
    Column("p, networks", "p_networks_holm", ".2g"),
    Column("p, images", "p_images_holm", ".2g"),
]
SIZE_COLUMNS = [
    Column("Networks", "networks", ".0f"),
    Column("Repeats", "lda_repeats", ".0f"),
    *RATE_COLUMNS,
]
BEST_NOTE = (
    "Same budget: as many hidden units and networks for both methods. ± is half the 95 % interval of "
    "the mean over networks, from three repeats on; after it is the 95 % interval over test images, "
    "by bootstrap. PI − LDA: of networks with the same random numbers, so of repeats that both have. p "
    "is two-sided: of the paired t-test over networks, and of McNemar's test over images, extended to "
    "averages; both with Holm's correction for the rows of this table. Networks are combined "
    "by the mean of LDA-ELM's posteriors and of PI-ELM's scores."
)
FANOUT_NOTE = "p, networks: of the paired t-test, by Holm's correction for the fan-outs of each kind."


@dataclass(frozen=True)
class Study:
    """The runs of a study, and the records at the settings that are chosen."""

    run: RunRecords
    tuned: Mapping[str, RunRecords]
    """By kind of input weights."""
    networks: Sequence[ShapedRecord]
    ensembles: Sequence[ShapedEnsembleRecord]
    chosen: Sequence[Setting]
    combined: Sequence[Setting]
    """Of those, the ones that make ensembles."""


def is_study(folder: Path) -> bool:
    """Whether `elmlda shaped` has trained networks there."""
    return (folder / ShapedRecord.FILE).exists()


def read_study(folder: Path) -> Study:
    """Read the study's runs; networks of settings that are no longer chosen are left out."""
    run = read_run(folder)
    found = {kind: find_run(folder / TUNE_FOLDER / kind) for kind in INPUT_WEIGHTS}
    tuned = {kind: each for kind, each in found.items() if each and each.tune}
    studied = run.planned("shaped")["input_weights"]
    if lacking := [kind for kind in studied if kind not in tuned]:
        raise ElmldaError(
            f"{folder / TUNE_FOLDER}: no records of {', '.join(lacking)} input weights, so "
            "what was chosen for them is not known.",
            "Restore them, or run elmlda shaped with the same {out} again.",
            out=folder,
        )
    chosen, combined = settle({kind: tuned[kind].tune for kind in INPUT_WEIGHTS if kind in studied})
    networks = [record for record in run.networks if record.setting in chosen]
    ensembles = [record for record in run.ensembles if record.setting in combined]
    return Study(run, tuned, networks, ensembles, chosen, combined)


def make_study_report(folder: Path) -> Report:
    """What the runs of the study say together."""
    study = read_study(folder)
    best, every = tabulate_best(study.networks, study.ensembles), tabulate_shaped(study.networks)
    headline, *others = describe_findings(best)
    runs = [study.run, *study.tuned.values()]
    return Report(
        title=f"elmlda shaped on {study.run.name}",
        question="Which input weights are best, and does LDA-ELM beat PI-ELM with each at its best?",
        headline=headline,
        second_line=" ".join([*others, *_describe_edges(study)]),
        sections=list(_make_sections(study, best, every)),
        tables={"shaped_best": best, "shaped_fanouts": every},
        gaps=list(_find_gaps(study)),
        provenance=join_provenance(runs, study.run.settings, study.run.settings.get("sha256")),
    )


def _describe_edges(study: Study) -> Iterator[str]:
    """Where the best of what was tried lies on the edge of it, after all widening."""
    for kind, run in study.tuned.items():
        for row in tune.tabulate_choices(run.tune, kind).to_dict("records"):
            if ";" in row["best_at"]:
                yield f"{row['name']}'s best on held-out samples with {kind} weights: {row['best_at']}."


def _make_sections(study: Study, best: pd.DataFrame, every: pd.DataFrame) -> Iterator[Section]:
    shown = make_table("Test errors in per cent", _show_best(best), BEST_COLUMNS)
    title, figure = "Same budget, each at its own best", _draw(study, best, every)
    yield Section("best", title, figures=[figure], tables=[shown], note=BEST_NOTE)
    if study.ensembles:
        sizes, note = tabulate_sizes(study.ensembles), _describe_time(study)
        shown = make_table("Test errors in per cent, means over ensembles", sizes, SIZE_COLUMNS)
        yield Section("sizes", "Networks in an ensemble", tables=[shown], note=note)
    if study.tuned:
        parts = [tune.tabulate_choices(run.tune, kind) for kind, run in study.tuned.items()]
        shown = make_table(tune.CAPTION, pd.concat(parts), tune.CHOICE_COLUMNS)
        note = " ".join([tune.RULE, *_describe_widening(study)])
        yield Section("choices", "What was chosen on held-out samples", tables=[shown], note=note)
    yield Section("fanouts", "Every fan-out", tables=[show_table(every)], note=FANOUT_NOTE, folded=True)


def _describe_time(study: Study) -> str:
    """What a network of the ensembles took; the median, since a run may have been paused."""
    seconds = {
        (record.setting, record.repeat): record.seconds
        for record in study.networks
        if record.setting in study.combined
    }
    return (
        f"One of these networks took {median(seconds.values()):.0f} s (median), with all fan-outs; "
        "the commands below say how many ran at a time."
    )


def _show_best(best: pd.DataFrame) -> pd.DataFrame:
    """With the intervals over images as text."""
    shown, rows = best.copy(), best.to_dict("records")
    for name, form in (("pi", ".2f"), ("lda", ".2f"), ("difference", "+.3f")):
        shown[f"{name}_images"] = [name_images(row, name, form) for row in rows]
    return shown


def _describe_widening(study: Study) -> Iterator[str]:
    """Values that the grid did not have at first."""
    planned = study.run.planned("shaped")
    for kind, run in study.tuned.items():
        size, added = tune.name_size(kind), []
        for title, field in ((size, "weight_size"), ("ridge", "ridge")):
            first = planned["first_ridge" if title == "ridge" else f"first_weight_{size}"]
            new = {getattr(record, field) for record in run.tune} - set(first)
            added += [f"{title} {value:g}" for value in sorted(new)]
        if added:
            yield f"The grid of {kind} weights was widened by {', '.join(added)}."


def _find_gaps(study: Study) -> Iterator[str]:
    """Networks and ensembles that are planned and not recorded yet."""
    planned = study.run.planned("shaped")
    largest, n_ensembles = max(planned["n_hidden"]), planned["ensembles"]
    done = Counter(record.setting for record in study.networks if record.n_hidden == largest)
    whole = Counter(record.setting for record in study.ensembles if record.size == planned["n"])
    for setting in study.chosen:
        is_combined, name = setting in study.combined, METHOD_NAMES[setting.method]
        n_planned = max(planned["repeats"], planned["n"] * n_ensembles if is_combined else 0)
        what = f"{name} with {setting.input_weights} weights"
        yield from find_lack(what, done[setting], n_planned, "networks")
        if is_combined:
            yield from find_lack(name, whole[setting], n_ensembles, "ensembles")


def _draw(study: Study, best: pd.DataFrame, every: pd.DataFrame) -> Drawing:
    is_mnist = study.run.is_papers_data
    beyond = " Large markers beyond the curves: ensembles, PI-ELM's hollow." if study.ensembles else ""
    hollow = " Black circles: the paper's LDA-ELM, uniform weights." if is_mnist else ""
    return Drawing(
        "shaped",
        "Test error rate over fan-out for each kind of input weights, PI-ELM and LDA-ELM",
        "Solid: LDA-ELM; dotted: PI-ELM, each at its own setting. Intervals are over networks."
        f"{beyond}{hollow}",
        partial(plot_shaped, every=every, best=best, is_mnist=is_mnist),
    )


def plot_shaped(figure: plots.Figure, every: pd.DataFrame, best: pd.DataFrame, is_mnist: bool) -> None:
    """Error rate over fan-out, two curves for each kind of input weights, and the ensembles."""
    figure.set_size_inches(6.8, 4.6)
    axes = figure.subplots()
    places = {kind: i for i, kind in enumerate(INPUT_WEIGHTS)}
    for kind, rows in every.groupby("input_weights", sort=False):
        look = plots.style(places[str(kind)])
        for method, line in (("lda", {"ls": "-", "label": kind}), ("pi", {"ls": ":", "mfc": "none"})):
            rates, half = rows[f"{method}_error_percent"], rows[f"{method}_interval"]
            plots.plot_points(axes, rows["fanout"], rates, half, ms=3, lw=1.0, **look, **line)
    for row in best[best["networks"] > 1].to_dict("records"):
        place = 1.05 * every["fanout"].max()
        look = {**plots.style(places.get(row["input_weights"], 4)), "ms": 8}
        for method, fill in (
            ("lda", {"label": f"{row['networks']} networks"}),
            ("pi", {"mfc": "none"}),
        ):
            rate, half = row[f"{method}_error_percent"], row[f"{method}_interval"]
            plots.plot_points(axes, [place], [rate], [half], **look, **fill)
    axes.plot([], [], ls=":", lw=1.0, color=plots.ink(), label="PI-ELM of the same colour")
    if is_mnist:
        plots.mark_papers(axes, paper.LDA_ERROR_PERCENT, "LDA-ELM, the paper", "o")
    means = plots.name_means(every["lda_repeats"], every["lda_interval"])
    axes.set(yscale="log", ylabel=plots.RATE_LABEL, title=f"Each method at its own setting, {means}")
    plots.integer_axis(axes.xaxis)
    plots.log_ticks(axes.yaxis)
    plots.legend_below(figure, n_columns=3)
