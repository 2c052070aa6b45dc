"""What a run's page says, in the order people look: answer, Fig. 1, Table 1, claims, the rest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import pandas as pd

from elmlda import paper
from elmlda.errors import ElmldaError
from elmlda.reports import claims, differences, figures, tables
from elmlda.reports.claims import CONSTANT, EQ5, NOT_REPRODUCED, NOT_RUN, REPRODUCED
from elmlda.reports.group_page import WITHIN, make_difference_sections
from elmlda.reports.load import Run, list_runs, percents, read_notes, read_run
from elmlda.reports.page import Figure, Page, Section, show
from elmlda.text import format_number

MOST_CLASSES = 30
"""Of a confusion matrix."""
Tables = Mapping[str, pd.DataFrame]


def make_run_page(run: Run) -> Page:
    """The page of one run, with those in its subfolders as differences from it."""
    if run.sweep.empty and run.ensemble.empty and run.timing.empty:
        raise ElmldaError(f"{run.folder}: no rows yet.", "Make some with {out}.", out=run.folder)
    data = run.manifest["run"].get("sha256")
    inside = {path.name: read_run(path) for path in list_runs(run.folder) if len(run.sweep)}
    inside = {
        n: r for n, r in inside.items() if len(r.sweep) and r.manifest["run"].get("sha256") == data
    }
    made = _tabulate(run, inside)
    headline, tone, lines = _answer_paper(run, made) if "claims" in made else _state_result(made)
    return Page(
        title=f"elmlda on {run.name}",
        headline=headline,
        tone=tone,
        lines=lines,
        sections=[*_rate_sections(run, made), *_other_sections(run, made, inside)],
        tables={name: table for name, table in made.items() if len(table)},
        verdicts=made.get("claims", pd.DataFrame()),
        notes=read_notes(run.folder),
        made=list(_list_settings(run)),
        commands=[str(entry.get("command", "")) for entry in run.manifest["commands"]],
    )


def _tabulate(run: Run, inside: Mapping[str, Run]) -> dict[str, pd.DataFrame]:
    """Name of a CSV file -> its table; claims and agreement only where the paper's numbers apply."""
    made = {
        "table1": tables.table1(run),
        "table2": tables.table2(run.timing, run.matches_paper),
        "ensemble_table": tables.ensemble_table(run),
        "posteriors": tables.posterior_table(run),
    }
    if run.matches_paper:
        fanouts = [f for f in paper.FANOUTS if f in set(run.primary["fanout"])]
        made["claims"] = claims.judge_claims(run)
        if fanouts:
            made["agreement"] = claims.judge_agreement(percents(run.primary), fanouts)
    if inside:
        both = differences.tabulate_differences({WITHIN: run, **inside}, WITHIN)
        made["differences"] = both[both["run"] != WITHIN].reset_index(drop=True)
    return made


def _answer_paper(run: Run, made: Tables) -> tuple[str, str, list[str]]:
    """Both halves: how many claims are reproduced, and whether the rates agree jointly."""
    n = len(percents(run.primary).dropna()) if len(run.primary) else 0
    is_whole = n >= paper.REPEATS and set(claims.ALL_FANOUTS) <= set(run.primary["fanout"])
    counted = made["claims"][made["claims"]["counted"]]
    judged, left = (counted[(counted["verdict"] == NOT_RUN) == missing] for missing in (False, True))
    parts = [
        f"{(rows['verdict'] == REPRODUCED).sum()} of {len(rows)} {kind}s"
        for kind in ("rate", "statement")
        if len(rows := judged[judged["kind"] == kind])
    ]
    failed = int((judged["verdict"] == NOT_REPRODUCED).sum())
    start = "Reproduced" if is_whole else f"Interim, {n} of {paper.REPEATS} networks. Reproduced"
    answer = f"{start}: {' and '.join(parts) or 'none'}; not reproduced: {failed or 'none'}. "
    tone = "bad" if failed else "good" if is_whole else "open"
    n_rates, names = (
        int((left["kind"] == "rate").sum()),
        list(left.loc[left["kind"] != "rate", "claim"]),
    )
    names = [*([f"{n_rates} rates of Table 1"] if n_rates else []), *names]
    lines = [f"Not run, or not at every size: {'; '.join(names)}."] if names else []
    return answer + _state_agreement(made.get("agreement", pd.DataFrame())), tone, lines


def _state_agreement(agreement: pd.DataFrame) -> str:
    if agreement.empty or agreement["p"].isna().any():
        return "Joint agreement with the paper's rates: not tested with so few networks."
    p, n = agreement.set_index("reading")["p"], int(agreement["rates"].iloc[0])
    both = f"p = {p[EQ5]:.2g} by {EQ5}, p = {p[CONSTANT]:.2g} {CONSTANT} in PI-ELM"
    return f"Joint agreement of the {n} rates with the paper's: {both}."


def _state_result(made: Tables) -> tuple[str, str, list[str]]:
    """The result at the largest size that has both methods, of the first ridge."""
    table = made["table1"]
    if table.empty:
        return "No sweep has been run in this folder.", "open", []
    first = table[table["ridge"] == table["ridge"].iloc[0]]
    whole = first.dropna(subset=["lda_error_percent"])
    row = (whole if len(whole) else first).iloc[-1]
    lda = f"LDA-ELM {row['lda_error_percent']:.1f} %" if len(whole) else "LDA-ELM without a solution"
    result = f"{lda}, PI-ELM {row['pi_error_percent']:.1f} % at {row['n_hidden']:,} hidden units"
    return result, "open", []


def _rate_sections(run: Run, made: Tables) -> Iterator[Section]:
    """Fig. 1 and Table 1, claims, both readings of PI-ELM."""
    table = made["table1"]
    first = table[table["ridge"] == table["ridge"].iloc[0]] if len(table) else table
    if len(table):
        fig1 = Figure("fig1", figures.plot_fig1, first, run.matches_paper)
        title = "Fig. 1 and Table 1: error rates" if run.matches_paper else "Error rates"
        has_ridges = table["ridge"].nunique() > 1
        listed = table if has_ridges else table.drop(columns="ridge")
        shown = show(listed, "Test error rates, means over networks", "rates")
        yield Section("table1", title, [fig1], [shown])
    if "claims" in made:
        yield _claims_section(made)
    if "claims" in made and len(table):
        drawn = [Figure("improvement", figures.plot_improvement, first)]
        if first["pi_z"].notna().any():
            drawn.append(Figure("distance", figures.plot_distance, first))
        shown = show(first, "PI-ELM with a constant hidden unit, which Eq. (5) lacks", "constant_rates")
        yield Section("readings", "Both readings of PI-ELM", drawn, [shown])


def _claims_section(made: Tables) -> Section:
    agreement, lines = made.get("agreement", pd.DataFrame()), []
    shown = [_show_claims(made["claims"], "statement")]
    if len(agreement):
        shown.append(show(agreement, "All rates together, and the mean gap PI − LDA", "agreement"))
        is_whole = (agreement["rates"] == 2 * len(paper.FANOUTS)).all()
        if is_whole and (agreement["networks"] >= paper.REPEATS).all():
            log_ratio, verdict = claims.judge_hypothesis(agreement)
            ratio = format_number(log_ratio, "+.2f")
            lines = [f"That the paper's PI-ELM had a constant unit is {verdict} (log LR {ratio})."]
    shown += [_show_claims(made["claims"], kind) for kind in ("rate", "improvement")]
    shown = [table for table in shown if len(table)]
    return Section("claims", "The paper's claims", tables=shown, lines=lines)


def _show_claims(verdicts: pd.DataFrame, kind: str) -> pd.DataFrame:
    """A row for each claim that was run, by Eq. (5) and beside it with a constant unit in PI-ELM."""
    rows = verdicts[(verdicts["kind"] == kind) & (verdicts["verdict"] != NOT_RUN)].copy()
    rows["region"] = [_name_region(*ends) for ends in rows[["region_low", "region_high"]].to_numpy()]
    rows["words"] = rows["claim"] + " (" + rows["place"] + ")"
    rows["half"] = (rows["high"] - rows["low"]) / 2
    constant = rows[rows["reading"] == CONSTANT].set_index("claim")
    rows = rows[rows["reading"] != CONSTANT].copy()
    for column in ("ours", "half", "z", "verdict"):
        rows[f"constant_{column}"] = rows["claim"].map(constant[column])
    caption = {"rate": "The 26 rates", "improvement": "Improvements, which are not counted"}
    shown = show(rows, caption.get(kind, "Statements, in per cent or points"), "claims")
    shown.attrs |= {"kind": "claims", "folded": kind != "statement"}
    return shown


def _name_region(low: float, high: float) -> str:
    if math.isinf(high):
        return f"above {low:.3g}"
    return f"{low:.2f} to {high:.2f}" if low > -100 else f"below {high:.3g}"


def _other_sections(run: Run, made: Tables, inside: Mapping[str, Run]) -> Iterator[Section]:
    beside, table = run.matches_paper, made["table1"]
    if len(run.primary) and run.primary["repeat"].nunique() > 1:
        rates = percents(run.primary, "fanout" if beside else "n_hidden")
        name = "fan-out" if beside else "units:"
        drawn = Figure("spread", figures.plot_spread, rates, name)
        yield Section("spread", "Every network", [drawn])
    if len(table) and table["difference_images_interval"].notna().any():
        shown = show(table, "Half-widths of 95 % intervals of PI − LDA", "images")
        yield Section("images", "Other networks, other images", tables=[shown])
    if len(found := made["ensemble_table"]):
        drawn = Figure("fig2", figures.plot_fig2, found)
        shown = show(found, "Error rates by number of networks", "ensembles")
        yield Section("fig2", f"{'Fig. 2: n' if beside else 'N'}etworks combined", [drawn], [shown])
    if len(found := made["table2"]):
        drawn = Figure("times", figures.plot_times, found)
        shown = show(found, "Processor time unless said otherwise", "times")
        yield Section("table2", f"{'Table 2: t' if beside else 'T'}imes", [drawn], [shown])
    yield from _posterior_sections(run, made["posteriors"])
    if "differences" in made:
        yield from make_difference_sections(made["differences"], {WITHIN: run, **inside})


def _posterior_sections(run: Run, table: pd.DataFrame) -> Iterator[Section]:
    shown = [show(table, "Scores of LDA-ELM's posteriors", "posteriors")] if len(table) else []
    kept = run.kept if run.kept and run.kept.collect("posteriors") else None
    drawn = [Figure("reliability", figures.plot_reliability, tables.reliability(kept))] if kept else []
    if shown or drawn:
        yield Section("posteriors", "LDA-ELM's posteriors", drawn, shown)
    if kept and len(kept.classes) <= MOST_CLASSES:
        figure = Figure("confusion", figures.plot_confusion, tables.confusion(kept))
        yield Section("confusion", "What is taken for what", [figure])


def _list_settings(run: Run) -> Iterator[tuple[str, str]]:
    """How the run was made: settings, precisions, versions, machines, checksums."""
    yield "data set", run.name
    for name, value in run.settings.items():
        if value not in (None, {}):
            yield name.replace("_", " "), str(value)
    counts = run.sweep["precision"].value_counts().sort_index()
    if len(counts):
        yield "rows computed in", ", ".join(f"{name} {n:,}" for name, n in counts.items())
    yield "elmlda", ", ".join(sorted({str(e.get("version")) for e in run.manifest["commands"]}))
    for machine in run.manifest["machines"]:
        texts = [f"{k} {', '.join(v) if isinstance(v, list) else v}" for k, v in machine.items()]
        yield "computed on", "; ".join(texts).replace("_", " ")
    for name, digest in (run.manifest["run"].get("sha256") or {}).items():
        yield f"SHA-256 of {name}", str(digest)
