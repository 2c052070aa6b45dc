"""elmlda tune: ridge and size of the input weights, chosen by held-out training samples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.options import (
    Numbers,
    data_options,
    output_options,
    resource_options,
    run_options,
    scheme_option,
    unit_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmlda.cli.run import Setup
    from elmlda.experiments.tune import Choice, TuneRecord

TRIED = frozenset({"ridge", "weight_norm", "weight_range"})
NORMS, RANGES, RIDGES = "0.5,1,2,4", "0.03125,0.0625,0.125,0.25,0.5", "0.01,0.1,1,10,100"


@click.command()
@click.option(
    "--fanout",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Hidden units for each input.",
)
@click.option("--hidden", type=click.IntRange(1), help="Hidden units instead.")
@click.option(
    "--ridge", type=Numbers(), default=RIDGES, show_default=True, help="Values of Tikhonov's λ to try."
)
@click.option(
    "--weight-norm",
    type=Numbers(),
    default=NORMS,
    show_default=True,
    help="Norms of each hidden unit's weights to try, if they are not uniform.",
)
@click.option(
    "--weight-range",
    type=Numbers(),
    default=RANGES,
    show_default=True,
    help="Ranges of uniform input weights to try.",
)
@click.option("--repeats", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--validation",
    type=click.IntRange(1),
    metavar="N",
    help="Training samples that are held out, the last ones.  [default: a sixth, MNIST's last 10,000]",
)
@data_options
@scheme_option
@unit_options
@output_options
@resource_options
@run_options
def tune(**options: Any) -> None:
    """Choose the ridge and the size of the input weights without the test samples.

    The last training samples are held out, networks are trained on the others with every setting, and
    errors are counted on those held out. Writes tune.csv; the same command again goes on where it
    stopped, and more values may be tried.
    """
    find_choice(options)


def find_choice(options: dict[str, Any]) -> Choice | None:
    """Try what is not recorded yet; the best setting, or None after a dry run."""
    from elmlda.cli import run as runs
    from elmlda.experiments.tune import FILE, TunePlan, TuneRecord, choose, run_tune
    from elmlda.runs.records import RecordFile, unique

    setup, sizes = _prepare(options)
    n_hidden = options["hidden"] or options["fanout"] * setup.dataset.n_inputs
    runs.refuse_what_cannot_be(setup, (n_hidden,))
    plan = TunePlan(
        setup.ref, n_hidden, sizes, options["ridge"], options["repeats"],
        len(setup.dataset.test.labels), setup.seed, setup.settings, setup.resources,
    )  # fmt: skip
    fixed = {"n_hidden": n_hidden, "validation": plan.n_validation}
    if options["dry_run"]:
        setup.check_folder("tune", fixed)
        recorded = {record.key for record in RecordFile(setup.folder / FILE, TuneRecord).read()}
        jobs = plan.jobs(recorded)
        click.echo("\n".join(runs.describe_plan(setup, jobs, len(recorded & set(plan.keys())))))
        return None
    grown = {"repeats": plan.repeats, "weight_size": list(sizes), "ridge": list(plan.ridges)}
    with setup.open_run("tune", fixed, grown) as run:
        file = run.records(FILE, TuneRecord)
        recorded = set(unique(file.read(), lambda record: record.key, file.path))
        jobs, n_all = plan.jobs(recorded), len(plan.jobs())
        with runs.progress(n_all, n_all - len(jobs), "network", options["quiet"]) as bar:
            for records in run_tune(jobs, setup.n_processes):
                file.append(records)
                bar.update()
        file.sort(key=lambda record: record.key)
        wanted = set(plan.keys())
        shown = [record for record in file.read() if record.key in wanted]
    choice = choose(shown)
    if not options["quiet"]:
        click.echo(format_table(shown, setup))
        click.echo(f"\n{format_choice(choice, setup)}\nRecords: {file.path}")
    return choice


def _prepare(options: dict[str, Any]) -> tuple[Setup, tuple[float, ...]]:
    """The setup, its test part the samples that are held out; and the sizes of weights to try."""
    from elmlda.cli import run as runs
    from elmlda.experiments.tune import with_weight_size
    from elmlda.settings import NetworkSettings

    # Every value is looked at before the first network: settings refuse a wrong one.
    for ridge in options["ridge"]:
        NetworkSettings(ridge=ridge)
    name = "weight_range" if options["input_weights"] == "uniform" else "weight_norm"
    sizes: tuple[float, ...] = options[name]
    one = {"ridge": min(options["ridge"]), "weight_norm": 1.0, "weight_range": 1.0, "design": "nested"}
    setup = runs.prepare({**options, **one})
    for size in sizes:
        with_weight_size(setup.settings, size)
    n_validation = options["validation"] or len(setup.dataset.train.labels) // 6
    folder = options["out"] or Path("results") / "tune" / setup.dataset.name / options["input_weights"]
    dataset = setup.dataset.hold_out(n_validation)
    return replace(setup, dataset=dataset, folder=folder, varied=TRIED), sizes


def size_name(setup: Setup) -> str:
    """What the scheme calls the size of its weights."""
    return "weight-range" if setup.settings.input_weights == "uniform" else "weight-norm"


def format_choice(choice: Choice, setup: Setup) -> str:
    """The best setting as options."""
    return (
        f"Best for LDA-ELM: --input-weights {setup.settings.input_weights} "
        f"--{size_name(setup)} {choice.weight_size:g} --ridge {choice.ridge:g}: "
        f"{choice.lda_error_percent:.2f} % of {len(setup.dataset.test.labels):,} held-out samples"
    )


def format_table(records: Sequence[TuneRecord], setup: Setup) -> str:
    """LDA-ELM's error rates, and PI-ELM's, by setting."""
    from elmlda.report.tables import tabulate_tune

    lines = [
        f"{setup.settings.input_weights}, {records[0].n_hidden:,} hidden units, "
        f"{records[0].n_validation:,} held-out samples",
        f"{size_name(setup):>12} {'ridge':>8} {'repeats':>7} {'PI-ELM':>8} {'LDA-ELM':>8}",
    ]
    lines += [
        f"{row['weight_size']:12g} {row['ridge']:8g} {row['repeats']:7d} "
        f"{row['pi_error_percent']:7.2f}% {row['lda_error_percent']:7.2f}%"
        for row in tabulate_tune(records).to_dict("records")
    ]
    return "\n".join(lines)
