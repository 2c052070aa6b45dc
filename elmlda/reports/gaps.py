"""What a run lacks, by its own plan and by the paper's protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from elmlda import paper
from elmlda.experiments.calibration import count_groups
from elmlda.ranges import format_ranges
from elmlda.reports.claims.rule import PAIRS
from elmlda.reports.records import RunRecords
from elmlda.reports.subjects.designs import find_design_gaps


def find_gaps(run: RunRecords) -> list[str]:
    """In sentences."""
    gaps = list(_compare_gaps(run))
    if run.has_papers_experiments:
        gaps += [*_sweep_gaps(run), *_ensemble_gaps(run), *_calibration_gaps(run), *_timing_gaps(run)]
    return [*gaps, *find_design_gaps(run)]


def _compare_gaps(run: RunRecords) -> Iterator[str]:
    planned = run.planned("compare")
    found = {(record.repeat, record.fold) for record in run.compare}
    n_planned = planned.get("repeats", 0) * planned.get("folds", 0)
    if len(found) < n_planned:
        yield f"The comparison has {len(found):,} of {n_planned:,} planned networks."


def _sweep_gaps(run: RunRecords) -> Iterator[str]:
    if not run.sweep:
        if run.is_papers_kind:
            yield "The sweep has not been run: no Table 1, no Fig. 1."
        return
    n_planned = run.count_planned("sweep")
    if len(run.sweep) < n_planned:
        yield f"The sweep has {len(run.sweep):,} of {n_planned:,} planned results."
    if not run.is_papers_kind:
        return
    repeats = Counter(record.fanout for record in run.sweep)
    missing = tuple(f for f in range(1, paper.LARGEST_FANOUT + 1) if f not in repeats)
    if missing:
        yield f"Fan-outs {format_ranges(missing)} have not been run."
    fewest = min(repeats.values())
    if fewest < paper.REPEATS:
        yield f"Fan-outs have {_count(fewest, 'repeat')} so far; the paper has {paper.REPEATS}."


def _ensemble_gaps(run: RunRecords) -> Iterator[str]:
    if not run.ensemble:
        if run.is_papers_kind:
            yield "The ensemble has not been run: no Fig. 2."
        return
    planned = run.planned("ensemble")
    counts = Counter((record.combine, record.size) for record in run.ensemble)
    n_repeats = min(counts.values())
    if n_repeats < planned.get("repeats", 0):
        yield f"The ensemble has {n_repeats} of {planned['repeats']} planned repeats."
    if run.is_papers_ensemble and n_repeats < paper.ENSEMBLE_REPEATS:
        repeats = _count(n_repeats, "repeat")
        yield f"The ensemble has {repeats} so far; the paper has {paper.ENSEMBLE_REPEATS}."
    if run.is_papers_kind and not run.is_papers_ensemble:
        yield f"The ensemble is not of fan-out {paper.LARGEST_FANOUT}: Fig. 2 can't be judged by it."
    if run.is_papers_ensemble and len(run.pairs) < PAIRS:
        yield f"Two networks are judged on {_count(len(run.pairs), 'pair')} so far; {PAIRS} are needed."
    largest = max(size for _, size in counts)
    if run.is_papers_ensemble and largest < paper.ENSEMBLE_SIZE:
        networks = _count(largest, "network")
        yield f"The largest ensemble has {networks}; the paper's has {paper.ENSEMBLE_SIZE}."
    if run.best_mistakes() is None:
        yield "What the best ensemble gets wrong is not recorded: the same command finds it again."
    elif run.dataset is None:
        yield "The data are not of the catalogue, so the confusion matrix and the images are not drawn."


def _calibration_gaps(run: RunRecords) -> Iterator[str]:
    planned = run.planned("calibration")
    if not planned:
        return
    counts = count_groups(planned["n_hidden"], planned["n"], planned["repeats"])
    found = Counter((record.n_hidden, record.size) for record in run.calibration)
    n_planned, n_found = counts.values(), [min(found[kind], n) for kind, n in counts.items()]
    if sum(n_found) < sum(n_planned):
        yield f"Calibration has {sum(n_found):,} of {sum(n_planned):,} planned groups of networks."


def _timing_gaps(run: RunRecords) -> Iterator[str]:
    if not run.timing:
        if run.is_papers_kind:
            yield "Times have not been measured: no Table 2."
        return
    n_planned = 3 * run.count_planned("timing")
    if len(run.timing) < n_planned:
        yield f"Table 2 has {len(run.timing):,} of {n_planned:,} planned timings."
    found = {record.fanout for record in run.timing}
    missing = tuple(f for f in range(1, paper.LARGEST_FANOUT + 1) if f not in found)
    if run.is_papers_kind and missing:
        yield f"Fan-outs {format_ranges(missing)} have not been timed."


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
