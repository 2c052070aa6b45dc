"""elmlda compare: PI-ELM against LDA-ELM on other data sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.options import (
    Ranges,
    cluster_option,
    config_option,
    layer_options,
    output_options,
    quiet_option,
    repeats_type,
    resource_options,
)
from elmlda.errors import ElmldaError
from elmlda.settings import RULES

if TYPE_CHECKING:
    from elmlda.datasets import Dataset, Table
    from elmlda.execute.local import Place
    from elmlda.experiments.compare import ComparePlan, CompareRecord


@click.command()
@click.option(
    "--dataset",
    multiple=True,
    default=["iris,wine,abalone,satimage"],
    show_default=True,
    metavar="NAMES",
    help="Data sets of the catalogue with commas, or your own .npz or .csv; may be given again.",
)
@click.option("--label", metavar="COLUMN", help="The column of a .csv file that has the class.")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Your own four IDX files instead, raw or .gz, named as MNIST's; for one --dataset.",
)
@click.option(
    "--fanout",
    type=Ranges(),
    default="1-5,10,20",
    show_default=True,
    help="Hidden units for each input.",
)
@click.option("--hidden", type=Ranges(), help="Hidden units instead: 10,20,50,100.")
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=10,
    show_default=True,
    help="Of stratified cross-validation, for sets without a split of their own.",
)
@click.option(
    "--repeats",
    type=repeats_type,
    default=10,
    show_default=True,
    help="Cross-validations, or networks for sets with a split of their own.",
)
@click.option(
    "--rule",
    type=click.Choice(RULES),
    multiple=True,
    default=RULES,
    show_default=True,
    help="The ridge: none as in the paper, or chosen by GCV on the training part; may be given twice.",
)
@layer_options
@output_options
@resource_options
@cluster_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("results/compare"),
    show_default=True,
    metavar="DIR",
    help="Folder with a run for each set; runs that are there go on.",
)
@config_option
@click.option("--dry-run", is_flag=True, help="Say what would be done, and stop.")
@quiet_option
def compare(**options: Any) -> None:
    """Compare PI-ELM with LDA-ELM on the same weights and splits of several data sets.

    Sets with a split of their own keep it; others get repeated stratified cross-validation. Inputs of
    sets that are not images are standardised by the training part alone. Writes compare.csv into a
    folder for each set. The same command again goes on where it stopped; --repeats, --fanout and
    --rule may grow. elmlda report makes a page for each set and a summary of all.
    """
    names = [name for words in options["dataset"] for name in words.split(",") if name]
    if not names:
        raise ElmldaError("no data set named: see elmlda data list.")
    if options["data_dir"] and len(names) > 1:
        raise ElmldaError(f"--data-dir is for one --dataset, {len(names)} are given.")
    for name in dict.fromkeys(names):
        _compare_on(name, options)


def _compare_on(name: str, options: dict[str, Any]) -> None:
    from elmlda.cli import run as runs
    from elmlda.datasets import require_two_of_each
    from elmlda.datasets.dataset import Table
    from elmlda.experiments.compare import FILE, CompareRecord, load_job_data, run_compare
    from elmlda.machine import describe_machine
    from elmlda.runs.manifest import check_same_run, read_manifest
    from elmlda.runs.records import RecordFile, unique
    from elmlda.runs.run import Run
    from elmlda.settings import DatasetRef

    ref = DatasetRef(name, options["data_dir"], options["label"])
    load_job_data.cache_clear()
    source = load_job_data(ref)
    if options["cluster"]:
        runs.refuse_beside_cluster(options)
        ref = runs.find_anywhere(ref)
    if isinstance(source, Table):
        require_two_of_each(source)
    plan = _make_plan(source, ref, options)
    folder = options["out"] / source.name
    identity, quiet = _identity(source, plan), options["quiet"]
    fixed = {"folds": plan.n_folds}
    if options["dry_run"]:
        manifest = read_manifest(folder)
        if manifest:
            check_same_run(folder, manifest, identity, "compare", fixed)
        recorded = {record.key for record in RecordFile(folder / FILE, CompareRecord).read()}
        click.echo(
            f"{source.name}: {len(plan.jobs(recorded)):,} of {len(plan.jobs()):,} networks to be "
            f"trained, {plan.n_folds} folds, hidden units {_sizes_text(plan)}, into {folder}"
        )
        return
    grown = {
        "repeats": plan.repeats,
        "n_hidden": sorted({size for sizes in plan.sizes.values() for size in sizes}),
        "rules": sorted(plan.sizes),
    }
    with Run(folder, "compare", identity, fixed, grown, describe_machine()) as run:
        file = run.records(FILE, CompareRecord)
        recorded = set(unique(file.read(), lambda record: record.key, file.path))
        jobs, n_all = plan.jobs(recorded), len(plan.jobs())
        if not quiet:
            click.echo(f"{source.name}: hidden units {_sizes_text(plan)}", err=True)
        with runs.progress(n_all, n_all - len(jobs), "network", quiet) as bar:
            for records in run_compare(jobs, _choose_place(source, plan, options)):
                file.append([record for record in records if record.key not in recorded])
                bar.update()
        file.sort(key=lambda record: record.key)
        wanted = set(plan.keys())
        shown = [record for record in file.read() if record.key in wanted]
    if not quiet:
        click.echo(format_table(source.name, shown))
        click.echo(f"Records: {file.path}\n")


def _make_plan(source: Dataset | Table, ref: Any, options: dict[str, Any]) -> ComparePlan:
    from elmlda.core.input_space import InputSpace
    from elmlda.datasets.dataset import Dataset
    from elmlda.experiments.compare import ComparePlan, choose_sizes, smallest_training_part
    from elmlda.machine import share_cores
    from elmlda.networks.memory import require_room
    from elmlda.settings import NetworkSettings, Resources

    n_folds = 1 if isinstance(source, Dataset) else options["folds"]
    if n_folds > 1 and n_folds > source.n_samples:  # type: ignore[union-attr]
        raise ElmldaError(
            f"{source.name}: {source.n_samples} samples, fewer than the {n_folds} of --folds."  # type: ignore[union-attr]
        )
    sizes = options["hidden"] or tuple(source.n_inputs * fanout for fanout in options["fanout"])
    chosen = choose_sizes(source, sizes, n_folds, options["rule"])
    if not any(chosen.values()):
        raise ElmldaError(
            f"{source.name}: {smallest_training_part(source, n_folds):,} training samples, "
            f"{sizes[0]:,} hidden units or more. Without a ridge LDA needs fewer: use --rule gcv."
        )
    names = [name for name in NetworkSettings.__dataclass_fields__ if name != "ridge"]
    settings = NetworkSettings(**{name: options[name] for name in names})
    InputSpace(source.n_inputs, source.image_shape).require(settings)
    threads = options["threads"] or share_cores(options["jobs"])
    plan = ComparePlan(
        ref,
        {rule: some for rule, some in chosen.items() if some},
        options["repeats"],
        n_folds,
        options["seed"],
        settings,
        Resources(threads, options["chunk"]),
    )
    if not options["cluster"]:
        require_room(
            _largest(plan),
            source.n_inputs,
            options["chunk"],
            options["jobs"],
            lambda *numbers: _peak_bytes(source, plan, *numbers),
        )
    return plan


def _largest(plan: ComparePlan) -> int:
    return max(size for sizes in plan.sizes.values() for size in sizes)


def _peak_bytes(
    source: Dataset | Table, plan: ComparePlan, n_hidden: int, chunk: int, jobs: int
) -> int:
    """Memory that networks up to that size take, so many at a time."""
    from elmlda.cli.run import hidden_itemsize
    from elmlda.datasets.dataset import Dataset
    from elmlda.experiments.compare import smallest_training_part
    from elmlda.networks.cost import (
        Problem,
        predict_peak_bytes,
        predict_ridge_bytes,
        predict_total_bytes,
    )

    n_train = smallest_training_part(source, plan.n_folds)
    if isinstance(source, Dataset):
        inputs, copies, n_test = source.train.nbytes + source.test.nbytes, 0, len(source.test.labels)
    else:
        inputs, n_test = source.samples.nbytes, source.n_samples - n_train
        copies = 8 * source.n_samples * source.n_inputs  # of the parts, standardised
    sizes = sorted({n_hidden, *(n for some in plan.sizes.values() for n in some if n < n_hidden)})
    itemsize = hidden_itemsize(plan.settings)
    problem = Problem(n_train, n_test, source.n_inputs, source.n_classes, tuple(sizes))
    one = predict_peak_bytes(problem, chunk, itemsize, inputs + copies)
    if "gcv" in plan.sizes:
        one = max(one, predict_ridge_bytes(problem, itemsize, inputs + copies))
    return predict_total_bytes(one, inputs, jobs)


def _choose_place(source: Dataset | Table, plan: ComparePlan, options: dict[str, Any]) -> Place | int:
    if not options["cluster"]:
        return int(options["jobs"])
    from elmlda.execute.cluster import Cluster
    from elmlda.experiments.compare import load_job_data

    needed = _peak_bytes(source, plan, _largest(plan), plan.resources.chunk, jobs=1)
    return Cluster(options["cluster"], plan.dataset, load_job_data, source.checksums, needed)


def _identity(source: Dataset | Table, plan: ComparePlan) -> dict[str, Any]:
    """What makes the run's networks what they are, for its manifest."""
    from elmlda.datasets.dataset import STANDARDISED

    settings = plan.settings.identity()
    del settings["ridge"]  # it is the rule's
    return {
        "dataset": source.name,
        "sha256": source.checksums,
        "seed": plan.seed,
        **settings,
        "input_scale": plan.settings.input_scale or source.input_scale,
        **({"inputs": STANDARDISED} if source.is_standardised else {}),
        **source.preparation,
    }


def _sizes_text(plan: ComparePlan) -> str:
    return "; ".join(
        f"{', '.join(map(str, sizes))} ({'no ridge' if rule == 'none' else rule})"
        for rule, sizes in plan.sizes.items()
    )


def format_table(name: str, records: Sequence[CompareRecord]) -> str:
    """Error rates of both methods by rule and size, and the corrected test."""
    from elmlda.report.compare_tables import tabulate_compare

    lines = [
        f"{name}: error rate, %",
        f"{'ridge':>6} {'hidden':>7} {'networks':>8} {'PI-ELM':>14} {'LDA-ELM':>14} "
        f"{'PI − LDA':>15} {'p':>8}",
    ]
    for row in tabulate_compare(records).to_dict("records"):
        cells = [
            f"{row[f'{column}']:6.2f} ±{row[half]:5.2f}"
            if row[half] == row[half]
            else f"{row[column]:6.2f}"
            for column, half in (
                ("pi_error_percent", "pi_interval"),
                ("lda_error_percent", "lda_interval"),
                ("difference", "difference_interval"),
            )
        ]
        p = f"{row['p']:8.2g}" if row["p"] == row["p"] else ""
        lines.append(
            f"{row['rule']:>6} {row['n_hidden']:7d} {row['networks']:8d} {cells[0]:>14} {cells[1]:>14} "
            f"{cells[2]:>15} {p}".rstrip()
        )
    return "\n".join(lines)
