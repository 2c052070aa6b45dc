"""elmlda ensemble: Fig. 2's records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.conduct import build, conduct
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
    from elmlda.experiments.run_spec import RunSpec


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
    from elmlda.experiments.ensemble import Ensemble

    def show(records: list[EnsembleRecord], spec: RunSpec) -> str:
        is_papers = spec.is_papers_data and options["fanout"] == paper.LARGEST_FANOUT
        return format_table(records, paper.ENSEMBLE_ERROR_PERCENT if is_papers else {})

    conduct(build(Ensemble, options), options, show)


def format_table(records: Sequence[EnsembleRecord], papers: dict[int, float]) -> str:
    """Error rates over ensemble sizes, a column for each scheme, beside what the paper states."""
    from elmlda.reports.subjects.ensemble import tabulate_ensemble

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
