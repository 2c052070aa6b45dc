"""How a run was made, how to make it again, and what it still lacks."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from elmlda import paper
from elmlda.experiments.calibration import count_groups
from elmlda.ranges import format_ranges
from elmlda.reports.claims import PAIRS
from elmlda.reports.designs import find_design_gaps, find_independent
from elmlda.reports.records import RunRecords
from elmlda.settings import NetworkSettings

FIXED_BY_PAPER = {"weight_range": 0.5, "ridge": 0.0, "priors": "uniform"}
"""Settings that the paper states; activation and input scale it leaves open."""


def find_departures(run: RunRecords) -> list[str]:
    """Settings that are not the paper's."""
    return [
        f"{name.replace('_', ' ')} {run.settings[name]} (the paper: {value})"
        for name, value in FIXED_BY_PAPER.items()
        if name in run.settings and run.settings[name] != value
    ]


def find_gaps(run: RunRecords) -> list[str]:
    """What the run lacks, by its own plan and by the paper's protocol, in sentences."""
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
    planned = run.planned("sweep")
    n_planned = planned.get("repeats", 0) * len(planned.get("n_hidden", ()))
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
    planned = run.planned("timing")
    n_planned = 3 * planned.get("repeats", 0) * len(planned.get("n_hidden", ()))
    if len(run.timing) < n_planned:
        yield f"Table 2 has {len(run.timing):,} of {n_planned:,} planned timings."
    found = {record.fanout for record in run.timing}
    missing = tuple(f for f in range(1, paper.LARGEST_FANOUT + 1) if f not in found)
    if run.is_papers_kind and missing:
        yield f"Fan-outs {format_ranges(missing)} have not been timed."


def list_commands(run: RunRecords) -> list[str]:
    """The commands that make the run again, or go on with it."""
    names = ("sweep", "ensemble", "calibration", "timing", "compare", "tune")
    made = [name for name in names if run.planned(name)]
    commands = [
        shlex.join(["elmlda", name, *_plan_options(run, name), *_options(run), *_folder(run, name)])
        for name in made
    ]
    inside = find_independent(run)
    if inside:
        commands += list_commands(inside)[:-1]
    return [*commands, "elmlda report"]


def _plan_options(run: RunRecords, experiment: str) -> list[str]:
    planned = run.planned(experiment)
    options = ["--repeats", str(planned.get("repeats", 1))]
    if planned.get("folds", 1) > 1:
        options += ["--folds", str(planned["folds"])]
    sizes = planned.get("n_hidden", [])
    if experiment == "tune":
        size = "--weight-range" if run.input_weights == "uniform" else "--weight-norm"
        return [
            "--hidden", str(sizes), *options, "--validation", str(planned["validation"]),
            size, _join(planned["weight_size"]), "--ridge", _join(planned["ridge"]),
        ]  # fmt: skip
    if experiment == "ensemble":
        n_inputs = _n_inputs(run) or sizes
        options = ["--n", str(planned.get("n", 1)), "--fanout", str(sizes // n_inputs), *options]
        schemes = planned.get("combine", ["mean"])
        return options + [word for scheme in schemes for word in ("--combine", scheme)]
    if experiment == "calibration":
        options = ["--n", format_ranges(tuple(planned["n"])), *options]
    n_inputs = _n_inputs(run)
    if n_inputs and all(size % n_inputs == 0 for size in sizes):
        return ["--fanout", format_ranges(tuple(size // n_inputs for size in sizes)), *options]
    return ["--hidden", ",".join(map(str, sizes)), *options]


def _n_inputs(run: RunRecords) -> int:
    """Inputs of a sample, from any record that tells; 0 if none does."""
    sized: Sequence[tuple[float, int]] = [
        *((record.fanout, record.n_hidden) for record in run.sweep),
        *((record.fanout, record.n_hidden) for record in run.timing),
        *((record.fanout, record.n_hidden) for record in run.compare),
        *((record.fanout, record.n_hidden) for record in run.calibration),
    ]
    if sized:
        fanout, n_hidden = sized[0]
        return round(n_hidden / fanout)
    return run.source.n_inputs if run.source else 0


def _options(run: RunRecords) -> Iterator[str]:
    """What is not the default."""
    settings = run.settings
    if run.source is not None:
        if settings["dataset"] != "mnist":
            yield from ("--dataset", str(settings["dataset"]))
    elif "train-images" in settings.get("sha256", {}):
        yield from ("--data-dir", "FOLDER")
    else:
        yield from ("--dataset", "FILE")
        if "label" in settings:
            yield from ("--label", str(settings["label"]))
    defaults = vars(NetworkSettings()) | {"seed": 0, "design": "nested"}
    defaults["input_scale"] = run.source.input_scale if run.source else settings.get("input_scale")
    for name, default in defaults.items():
        if name in settings and settings[name] != default:
            yield from (f"--{name.replace('_', '-')}", str(settings[name]))


def _folder(run: RunRecords, experiment: str) -> Iterator[str]:
    """Where the run is, if not where its command would put it; one machine's path says nothing."""
    name = str(run.settings.get("dataset"))
    usual = Path("results", name)
    if experiment == "tune":
        usual = Path("results", "tune", name, run.input_weights)
    if run.folder.is_absolute() or experiment == "compare":
        return
    if run.folder.parts[-len(usual.parts) :] != usual.parts:
        yield from ("--out", str(run.folder))


def _join(numbers: Sequence[float]) -> str:
    return ",".join(f"{number:g}" for number in numbers)


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
