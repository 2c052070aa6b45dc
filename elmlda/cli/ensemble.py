"""elmlda ensemble: Fig. 2's records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.formats import or_blank, with_interval
from elmlda.cli.options import (
    cluster_option,
    network_options,
    repeats_type,
    resource_options,
    run_options,
)
from elmlda.settings import COMBINATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmlda.experiments.ensemble import EnsembleRecord


@click.command()
@click.option(
    "--n",
    type=repeats_type,
    default=20,
    show_default=True,
    help="Networks in the largest ensemble; all sizes up to it are evaluated.",
)
@click.option(
    "--fanout",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Hidden units for each input.",
)
@click.option("--repeats", type=repeats_type, default=10, show_default=True)
@click.option(
    "--combine",
    type=click.Choice(COMBINATIONS),
    multiple=True,
    default=["mean"],
    show_default=True,
    help="How posteriors are combined; may be given several times.",
)
@network_options
@resource_options
@cluster_option
@run_options
def ensemble(**options: Any) -> None:
    """Combine LDA-ELM networks by their posterior probabilities and count test errors.

    Member i of repeat r is network r·n + i of the run. What a sweep at the same fan-out has kept in
    the run's folder is used; only the networks that are missing are trained. Writes ensemble.csv,
    mistakes.csv with the test samples that the whole ensembles get wrong, and pairs.csv with the
    errors of networks 0 and 1 combined, 2 and 3, and so on, as many as are kept.
    """
    from elmlda import paper
    from elmlda.cli import run as runs
    from elmlda.experiments import pairs
    from elmlda.experiments.ensemble import (
        FILE,
        MISTAKES_FILE,
        EnsemblePlan,
        EnsembleRecord,
        MistakeRecord,
        find_missing,
        run_ensemble,
    )
    from elmlda.runs.records import RecordFile, unique

    setup = runs.prepare(options)
    n_hidden = options["fanout"] * setup.dataset.n_inputs
    schemes = tuple(sorted(set(options["combine"])))
    runs.refuse_what_cannot_be(setup, (n_hidden,))
    plan = EnsemblePlan(
        setup.ref, setup.dataset.n_inputs, n_hidden, options["n"], options["repeats"],
        schemes, setup.seed, setup.design, setup.settings, setup.resources,
    )  # fmt: skip
    fixed = {"n": plan.n_members, "n_hidden": n_hidden}
    kept = setup.posteriors()
    if options["dry_run"]:
        setup.check_folder("ensemble", fixed)
        found = RecordFile(setup.folder / FILE, EnsembleRecord).read()
        mistakes = RecordFile(setup.folder / MISTAKES_FILE, MistakeRecord).read()
        missing = find_missing(plan, plan.open_repeats(found, mistakes), kept)
        click.echo("\n".join(runs.describe_plan(setup, missing, len(found))))
        return
    grown = {"repeats": plan.repeats, "combine": list(schemes)}
    with setup.open_run("ensemble", fixed, grown) as run:
        file = run.records(FILE, EnsembleRecord)
        mistakes_file = run.records(MISTAKES_FILE, MistakeRecord)
        recorded = unique(file.read(), lambda record: record.key, file.path)
        pairs_file = run.records(pairs.FILE, pairs.PairRecord)
        recorded_pairs = unique(pairs_file.read(), lambda record: record.key, pairs_file.path)
        mistakes = mistakes_file.read()
        repeats = plan.open_repeats(recorded.values(), mistakes)
        # Those of a repeat that was cut off are found again.
        mistakes_file.replace(
            [m for m in mistakes if m.repeat not in repeats or m.combine not in schemes]
        )
        missing = find_missing(plan, repeats, kept)
        n_all = plan.repeats * plan.n_members
        with runs.progress(n_all, n_all - len(missing), "network", options["quiet"]) as bar:
            for n_trained, records in run_ensemble(
                plan, repeats, missing, recorded_pairs, kept, setup.dataset.test.labels,
                setup.priors(), runs.choose_place(setup, (n_hidden,)),
            ):  # fmt: skip
                mistakes_file.append(records.mistakes)
                file.append([record for record in records.errors if record.key not in recorded])
                pairs_file.append(records.pairs)
                bar.update(n_trained)
        for each in (file, mistakes_file, pairs_file):
            each.sort(key=lambda record: record.key)
        wanted = [r for r in file.read() if r.repeat < plan.repeats and r.combine in schemes]
    if not options["quiet"]:
        is_papers = setup.is_papers_data and options["fanout"] == 20
        click.echo(format_table(wanted, paper.ENSEMBLE_ERROR_PERCENT if is_papers else {}))
        click.echo(f"\nRecords: {file.path}")


def format_table(records: Sequence[EnsembleRecord], papers: dict[int, float]) -> str:
    """Error rates over ensemble sizes, a column for each scheme, beside what the paper states."""
    from elmlda.report.tables import tabulate_ensemble

    rows = {(row["size"], row["combine"]): row for row in tabulate_ensemble(records).to_dict("records")}
    schemes = sorted({record.combine for record in records})
    lines = [f"{'networks':>8} {'repeats':>7} " + " ".join(f"{scheme:^13}" for scheme in schemes)]
    if papers:
        lines[0] += "   the paper (mean)"
    for size in sorted({record.size for record in records}):
        cells = [rows[size, scheme] for scheme in schemes]
        line = f"{size:8d} {cells[0]['repeats']:7d} " + " ".join(
            with_interval(cell["error_percent"], cell["interval"]) for cell in cells
        )
        lines.append(f"{line}   {or_blank(papers.get(size, float('nan')), '{:6.2f}', 6)}".rstrip())
    return "\n".join(lines)
