"""elmlda train: a network or an ensemble to keep and use."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elmlda.cli.options import (
    config_option,
    data_options,
    layer_options,
    output_options,
    quiet_option,
    repeats_type,
    resource_options,
)
from elmlda.errors import ElmldaError
from elmlda.settings import COMBINATIONS, DEFAULT_RIDGE, OUTPUTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elmlda.cli.run import Setup
    from elmlda.networks.model import Model


class Ridge(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number, or auto."""

    name = "number|auto"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        if value == "auto":
            return "auto"
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor 'auto'.", param, ctx)


@click.command()
@click.option(
    "--fanout",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Hidden units for each input.",
)
@click.option("--hidden", type=click.IntRange(1), help="Hidden units instead.")
@click.option(
    "--output",
    type=click.Choice(OUTPUTS),
    default="lda",
    show_default=True,
    help="Output weights by LDA, with posteriors, or by the pseudo-inverse.",
)
@click.option(
    "--n", type=repeats_type, default=1, show_default=True, help="Networks: more are an ensemble."
)
@click.option(
    "--combine",
    type=click.Choice(COMBINATIONS),
    default="mean",
    show_default=True,
    help="How an ensemble combines its posteriors.",
)
@data_options
@layer_options
@click.option(
    "--ridge",
    type=Ridge(),
    default=str(DEFAULT_RIDGE),
    show_default=True,
    help="Tikhonov's λ: 0 is the paper's; auto chooses it by generalised cross-validation.",
)
@output_options
@resource_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The model's file.  [default: <data set>-model.npz]",
)
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@config_option
@quiet_option
def train(**options: Any) -> None:
    """Train a network, or an ensemble of them, and keep it in a file for elmlda predict.

    Network i is network i of elmlda sweep with the same --seed. The file keeps its seed instead of
    its random input weights, and is small.
    """
    from elmlda.cli import run as runs
    from elmlda.networks.memory import require_room

    if options["n"] > 1 and options["output"] == "pi":
        raise click.UsageError(
            "an ensemble combines posteriors, and PI-ELM has none: use --output lda."
        )
    ridge = None if options["ridge"] == "auto" else options["ridge"]
    # What --ridge auto chooses is never 0.
    plain = {**options, "design": "nested", "ridge": DEFAULT_RIDGE if ridge is None else ridge}
    setup = runs.prepare(plain)
    path = options["out"] or Path(f"{setup.dataset.name}-model.npz")
    _refuse_path(path, options["dataset"], options["force"])
    n_hidden = options["hidden"] or options["fanout"] * setup.dataset.n_inputs
    if options["output"] == "lda":
        runs.refuse_too_few_samples(setup, n_hidden)
    require_room(
        n_hidden,
        setup.dataset.n_inputs,
        setup.resources.chunk,
        setup.n_processes,
        lambda n_hidden, chunk, jobs: _peak_bytes(
            runs.with_share(setup, chunk, jobs), n_hidden, options["n"], ridge is None
        ),
    )
    model = _train(setup, n_hidden, ridge, options)
    from elmlda.networks.model_file import write_model

    # The data set's samples are standardised, where they are to be; those that come later are not.
    write_model(path, replace(model, scaling=setup.dataset.scaling))
    if not options["quiet"]:
        click.echo(_describe(path, model, setup))


def _peak_bytes(setup: Setup, n_hidden: int, n_networks: int, chooses_ridge: bool) -> int:
    """Memory that the training takes at its peak, with the networks that are trained already."""
    from elmlda.cli import run as runs
    from elmlda.networks.cost import predict_ridge_bytes

    data, itemsize = setup.dataset, runs.hidden_itemsize(setup.settings)
    needed = runs.peak_bytes(setup, (n_hidden,))
    if chooses_ridge:
        inputs = data.train.nbytes + data.test.nbytes
        ridge = predict_ridge_bytes(setup.problem((n_hidden,)), itemsize, inputs)
        needed = max(needed, setup.n_processes * ridge)
    one_trained = n_hidden * (itemsize * data.n_inputs + 8 * data.n_classes)
    return needed + (n_networks - 1) * one_trained


def _refuse_path(path: Path, dataset: str | None, force: bool) -> None:
    """Before the training, not after it."""
    if dataset and path.exists() and Path(dataset).exists() and path.samefile(dataset):
        raise ElmldaError(f"{path}: the data themselves, expected another file for the model.")
    if path.is_dir():
        raise ElmldaError(f"{path}: a folder, expected the name of a file for the model.")
    if path.exists() and not force:
        raise ElmldaError(f"{path} is there already. Use --force to replace it, or --out.")
    if not path.parent.is_dir():
        raise ElmldaError(f"{path.parent}: no such folder for the model's file.")


def _train(setup: Setup, n_hidden: int, ridge: float | None, options: dict[str, Any]) -> Model:
    import numpy as np

    from elmlda.cli import run as runs
    from elmlda.execute.local import execute
    from elmlda.networks.model import Model, Recipe, TrainingJob, run_training

    data = setup.dataset
    settings = replace(setup.settings, input_scale=setup.settings.input_scale or data.input_scale)
    priors = setup.priors() if options["output"] == "lda" else None
    seeds = [np.random.SeedSequence(setup.seed, spawn_key=(i,)) for i in range(options["n"])]
    jobs = [
        TrainingJob(
            setup.ref,
            Recipe(seed, data.n_inputs, n_hidden, settings, data.image_shape),
            ridge,
            priors,
            setup.resources,
        )
        for seed in seeds
    ]
    networks = {}
    quiet = options["quiet"] or len(jobs) == 1
    with runs.progress(len(jobs), 0, "network", quiet) as bar:
        for job, network in execute(run_training, jobs, setup.n_processes):
            networks[job.recipe.seed.spawn_key] = network
            bar.update()
    combine = options["combine"] if len(jobs) > 1 else None
    in_order = tuple(networks[seed.spawn_key] for seed in seeds)
    names = None if data.feature_names is None else np.array(data.feature_names, object)
    return Model(in_order, _as_labels(data.classes), combine, data.image_shape, names)


def _as_labels(classes: tuple[str, ...]) -> NDArray[Any]:
    """Whole numbers as numbers, so that an estimator's predictions compare with them."""
    import numpy as np

    labels = np.array(classes)
    with suppress(ValueError):
        numbers = labels.astype(np.int64)
        if tuple(map(str, numbers)) == classes:
            return numbers
    return labels


def _describe(path: Path, model: Model, setup: Setup) -> str:
    """One line: what it is, and what it is worth on the test samples."""
    test = setup.dataset.test
    errors = int((model.choose(test.inputs, setup.resources.chunk) != test.labels).sum())
    kind = "LDA-ELM" if model.has_posteriors else "PI-ELM"
    several = f"{len(model.networks)} × " if model.is_ensemble else ""
    ridges = sorted({float(f"{network.ridge:.3g}") for network in model.networks})
    ridge = f"{ridges[0]:g}" if len(ridges) == 1 else f"{ridges[0]:g} to {ridges[-1]:g}"
    return (
        f"{path}: {several}{kind}, {model.recipe.n_hidden:,} hidden units, ridge {ridge}, "
        f"{100 * errors / len(test.labels):.2f} % test errors ({errors:,} of {len(test.labels):,})"
    )
