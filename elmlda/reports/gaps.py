"""What is missing in a run, by its own plan and by the paper's protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from elmlda import paper
from elmlda.experiments.calibration import count_groups
from elmlda.ranges import format_ranges
from elmlda.reports.claims.rule import PAIRS
from elmlda.reports.records import INDEPENDENT, RunRecords
from elmlda.reports.subjects.designs import explain_obstacle


def find_gaps(run: RunRecords) -> list[str]:
    """A sentence for each."""
    gaps = list(_compare_gaps(run))
    if run.has_papers_experiments:
        gaps += [*_sweep_gaps(run), *_ensemble_gaps(run), *_calibration_gaps(run), *_timing_gaps(run)]
    return [*gaps, *find_design_gaps(run)]


def find_lack(what: str, n_found: int, n_planned: int, things: str) -> Iterator[str]:
    """Nothing, if there is as much as planned."""
    if n_found < n_planned:
        yield f"{what} has {n_found:,} of {n_planned:,} planned {things}."


def _compare_gaps(run: RunRecords) -> Iterator[str]:
    planned = run.planned("compare")
    found = {(record.repeat, record.fold) for record in run.compare}
    n_planned = planned.get("repeats", 0) * planned.get("folds", 0)
    yield from find_lack("The comparison", len(found), n_planned, "networks")


def _sweep_gaps(run: RunRecords) -> Iterator[str]:
    repeats = Counter(record.fanout for record in run.sweep)
    if repeats:
        yield from find_lack("The sweep", len(run.sweep), run.count_planned("sweep"), "results")
    if not run.is_papers_kind:
        return
    if not repeats:
        yield "The sweep has not been run: no Table 1, no Fig. 1."
        return
    yield from _missing_fanouts(repeats, "run")
    fewest = min(repeats.values())
    if fewest < paper.REPEATS:
        yield f"Fan-outs have {_count(fewest, 'repeat')} so far; the paper has {paper.REPEATS}."


def _missing_fanouts(found: Collection[float], what: str) -> Iterator[str]:
    missing = tuple(f for f in range(1, paper.LARGEST_FANOUT + 1) if f not in found)
    if missing:
        yield f"Fan-outs {format_ranges(missing)} have not been {what}."


def _ensemble_gaps(run: RunRecords) -> Iterator[str]:
    if not run.ensemble:
        if run.is_papers_kind:
            yield "The ensemble has not been run: no Fig. 2."
        return
    counts = Counter((record.combine, record.size) for record in run.ensemble)
    n_repeats, n_planned = min(counts.values()), run.planned("ensemble").get("repeats", 0)
    yield from find_lack("The ensemble", n_repeats, n_planned, "repeats")
    if run.is_papers_ensemble:
        yield from _fig2_gaps(n_repeats, len(run.pairs), max(size for _, size in counts))
    elif run.is_papers_kind:
        yield f"The ensemble is not of fan-out {paper.LARGEST_FANOUT}: Fig. 2 can't be judged by it."
    if run.best_mistakes() is None:
        yield "What the best ensemble gets wrong is not recorded: the same command finds it again."
    elif run.dataset is None:
        yield "The data are not of the catalogue, so the confusion matrix and the images are not drawn."


def _fig2_gaps(n_repeats: int, n_pairs: int, largest: int) -> Iterator[str]:
    if n_repeats < paper.ENSEMBLE_REPEATS:
        repeats = _count(n_repeats, "repeat")
        yield f"The ensemble has {repeats} so far; the paper has {paper.ENSEMBLE_REPEATS}."
    if n_pairs < PAIRS:
        yield f"Two networks are judged on {_count(n_pairs, 'pair')} so far; {PAIRS} are needed."
    if largest < paper.ENSEMBLE_SIZE:
        networks = _count(largest, "network")
        yield f"The largest ensemble has {networks}; the paper's has {paper.ENSEMBLE_SIZE}."


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _calibration_gaps(run: RunRecords) -> Iterator[str]:
    if planned := run.planned("calibration"):
        counts = count_groups(planned["n_hidden"], planned["n"], planned["repeats"])
        found = Counter((record.n_hidden, record.size) for record in run.calibration)
        n_found = sum(min(found[kind], n) for kind, n in counts.items())
        yield from find_lack("Calibration", n_found, sum(counts.values()), "groups of networks")


def _timing_gaps(run: RunRecords) -> Iterator[str]:
    if run.timing:
        yield from find_lack("Table 2", len(run.timing), 3 * run.count_planned("timing"), "timings")
        if run.is_papers_kind:
            yield from _missing_fanouts({record.fanout for record in run.timing}, "timed")
    elif run.is_papers_kind:
        yield "Times have not been measured: no Table 2."


def find_design_gaps(run: RunRecords) -> Iterator[str]:
    """Of the independent sweep in the run's folder: whether it can be compared, what is missing."""
    if other := run.independent:
        if obstacle := explain_obstacle(run, other):
            yield f"The run in {INDEPENDENT}/ is not comparable with this one: {obstacle}."
        else:
            n_planned = other.count_planned("sweep")
            yield from find_lack("The independent design", len(other.sweep), n_planned, "results")
