"""elmlda shaped: four kinds of input weights beside each other, and an ensemble of the best."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.ensemble import ensemble
from elmlda.cli.options import (
    Numbers,
    config_option,
    data_options,
    fanout_option,
    output_options,
    quiet_option,
    resource_options,
    unit_options,
)
from elmlda.cli.sweep import sweep
from elmlda.cli.tune import NORMS, RANGES, RIDGES, find_choice
from elmlda.settings import INPUT_WEIGHTS

if TYPE_CHECKING:
    from elmlda.experiments.tune import Choice


@click.command()
@click.option(
    "--scheme",
    "schemes",
    type=click.Choice(INPUT_WEIGHTS),
    multiple=True,
    default=INPUT_WEIGHTS,
    show_default=True,
    help="Kind of input weights; may be given several times.",
)
@fanout_option
@click.option("--repeats", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--tune-fanout",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Fan-out at which norm and ridge are chosen.",
)
@click.option("--tune-repeats", type=click.IntRange(1), default=3, show_default=True)
@click.option("--ridge", type=Numbers(), default=RIDGES, show_default=True, help="Values to try.")
@click.option(
    "--weight-norm",
    type=Numbers(),
    default=NORMS,
    show_default=True,
    help="Norms of each hidden unit's weights to try, where they are not uniform.",
)
@click.option(
    "--weight-range",
    type=Numbers(),
    default=RANGES,
    show_default=True,
    help="Ranges of uniform weights to try.",
)
@click.option(
    "--validation",
    type=click.IntRange(1),
    metavar="N",
    help="Training samples that are held out to choose by.  [default: a sixth]",
)
@click.option(
    "--n", type=click.IntRange(1), default=10, show_default=True, help="Networks of the ensemble."
)
@click.option(
    "--ensemble-fanout",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Fan-out of its networks.",
)
@data_options
@unit_options
@output_options
@resource_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("results/shaped"),
    show_default=True,
    metavar="DIR",
    help="Folder with a run for each kind; runs that are there go on.",
)
@config_option
@quiet_option
@click.pass_context
def shaped(ctx: click.Context, /, **options: Any) -> None:
    """Study input weights that are shaped by images and training samples.

    For each kind: its norm and ridge are chosen on held-out training samples (elmlda tune), then
    networks are trained on the whole training part and tested (elmlda sweep). The kind that was best
    on the held-out samples makes an ensemble (elmlda ensemble); it is swept first, and with as many
    repeats as the ensemble has networks. Each part has its folder, and the same command again goes on
    where it stopped.
    """
    out: Path = options["out"]
    schemes = [scheme for scheme in INPUT_WEIGHTS if scheme in options["schemes"]]
    choices = {scheme: _tune(scheme, options) for scheme in schemes}
    common = {name: options[name] for name in COMMON}
    best = min(schemes, key=lambda scheme: choices[scheme].lda_error_percent)
    # Where the sweep's largest networks are the ensemble's, its members are tested at every fan-out.
    is_ensembles = options["fanout"][-1] == options["ensemble_fanout"]
    for scheme in sorted(schemes, key=lambda scheme: scheme != best):
        _say(f"\n{scheme}", options)
        ctx.invoke(
            sweep,
            fanout=options["fanout"],
            hidden=None,
            repeats=max(options["repeats"], options["n"] * (is_ensembles and scheme == best)),
            posteriors=is_ensembles and scheme == best,
            out=out / scheme,
            **common,
            **_settings(scheme, choices[scheme]),
        )
    _say(f"\nEnsemble of {best}", options)
    ctx.invoke(
        ensemble,
        n=options["n"],
        fanout=options["ensemble_fanout"],
        repeats=1,
        combine=("mean",),
        out=out / best,
        **common,
        **_settings(best, choices[best]),
    )


COMMON = (
    "dataset", "label", "data_dir", "seed", "activation", "input_scale", "min_field", "priors",
    "precision", "jobs", "threads", "chunk", "quiet",
)  # fmt: skip
"""Options that every part has, and has the same."""


def _tune(scheme: str, options: dict[str, Any]) -> Choice:
    choice = find_choice(
        {
            **{name: options[name] for name in (*COMMON, "ridge", "weight_norm", "weight_range")},
            "validation": options["validation"],
            "input_weights": scheme,
            "fanout": options["tune_fanout"],
            "hidden": None,
            "repeats": options["tune_repeats"],
            "out": options["out"] / "tune" / scheme,
            "dry_run": False,
        }
    )
    assert choice is not None
    return choice


def _settings(scheme: str, choice: Choice) -> dict[str, Any]:
    size = "weight_range" if scheme == "uniform" else "weight_norm"
    return {"input_weights": scheme, size: choice.weight_size, "ridge": choice.ridge}


def _say(text: str, options: dict[str, Any]) -> None:
    if not options["quiet"]:
        click.echo(text)
