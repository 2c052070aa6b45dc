"""elmlda ensemble: Fig. 2's records."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.command import Command, option
from elmlda.cli.conduct import build, conduct
from elmlda.cli.options import experiment_options, fanout_option, hidden_option, repeats_option
from elmlda.cli.values import REPEATS
from elmlda.settings import COMBINATIONS

if TYPE_CHECKING:
    from elmlda.experiments.ensemble import Ensemble
    from elmlda.experiments.run_spec import RunSpec


@click.command(cls=Command)
@option("--n", "Networks in the largest ensemble; all sizes up to it are evaluated.", REPEATS, 20)
@fanout_option(20)
@hidden_option
@repeats_option(10, "Ensembles of new networks; the paper has 10")
@option(
    "--combine",
    "How posteriors are combined; may be given several times.",
    click.Choice(COMBINATIONS),
    ["mean"],
    multiple=True,
)
@experiment_options
def ensemble(**options: Any) -> None:
    """Combine LDA-ELM networks by their posterior probabilities and count test errors (Figure 2).

    Member i of repeat r is network r·n + i of the run. What a sweep at the same fan-out has kept in
    the run's folder is used; only the networks that are missing are trained. Writes ensemble.csv,
    mistakes.csv with the test samples that the whole ensembles get wrong, and pairs.csv with the
    errors of networks 0 and 1 combined, 2 and 3, and so on, as many as are kept.
    """
    from elmlda.experiments.ensemble import Ensemble

    conduct(build(Ensemble, options), options, advise)


def advise(spec: RunSpec, experiment: Ensemble) -> str:
    """Which --fanout or --hidden would use what a sweep has kept, if that is another one."""
    names = (path.stem for path in (spec.folder / "posteriors").glob("*-*.npz"))
    sizes = Counter(int(size) for name in names if (size := name.rpartition("-")[2]).isdecimal())
    sizes.pop(experiment.sizes(spec)[0], None)
    if not sizes:
        return ""
    kept = " and ".join(f"{n:,} networks of {_spell(size, spec)}" for size, n in sorted(sizes.items()))
    right = _spell(max(sizes), spec)
    return f"The posteriors that are kept there are of {kept}: {right} would use them."


def _spell(size: int, spec: RunSpec) -> str:
    """The option for a hidden size."""
    fanout, rest = divmod(size, spec.data.n_inputs)
    return f"--hidden {size}" if rest else f"--fanout {fanout}"
