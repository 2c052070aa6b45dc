"""Options that several commands have, each defined once: the same words mean the same things."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from elmlda.cli.command import MACHINE, NETWORK, OUTPUT, Function, flag, option, together
from elmlda.cli.config import read_config
from elmlda.cli.values import COUNT, PROCESSES, REPEATS, NameOrPath, Numbers, Ranges, UserPath
from elmlda.settings import (
    ACTIVATION_NAMES,
    DEFAULT_CHUNK,
    DESIGNS,
    INPUT_WEIGHTS,
    PAPER_RANGE,
    PRECISIONS,
)

network, machine, output = (partial(option, group=group) for group in (NETWORK, MACHINE, OUTPUT))

# What to compute


def fanouts_option(default: str) -> Callable[[Function], Function]:
    """Several network sizes."""
    text = "Hidden units for each input: 1-20, or 1-10,12,15,20."
    return option("--fanout", text, Ranges(), default)


def fanout_option(default: int | None, more: str = "") -> Callable[[Function], Function]:
    """One network size; `more` follows the help."""
    return option("--fanout", f"Hidden units for each input.{more}", COUNT, default)


def repeats_option(
    default: int, text: str = "Networks with new random weights"
) -> Callable[[Function], Function]:
    """How often each size is trained; `text` ends without a full stop."""
    return option("--repeats", f"{text}.", REPEATS, default)


hidden_text = "Number of hidden units M, instead of --fanout"
hiddens_option = option("--hidden", f"{hidden_text}: 100,500,1000-5000:1000.", Ranges())
hidden_option = option("--hidden", f"{hidden_text}.", COUNT)

drop_option = option(
    "--drop",
    "CSV files: leave out this column, by its name or its number from 1, because it is no input. May "
    "be given several times.",
    multiple=True,
    metavar="COLUMN",
)
column_options = together(
    option("--label", "The column of a .csv file that has the class.", metavar="COLUMN"), drop_option
)
data_dir_option = option(
    "--data-dir",
    "Folder with your own data in four IDX files, raw or .gz, named as MNIST's.",
    UserPath(),
    metavar="DIR",
)
data_options = together(
    option(
        "--dataset",
        "Data set of the catalogue (see elmlda data list), or your own: a .npz or .csv file, or a "
        "folder of four IDX files.  [default: mnist]",
        NameOrPath(),
        metavar="NAME|PATH",
    ),
    column_options,
    data_dir_option,
)

tuned_values_options = together(
    option(
        "--ridge",
        "Ridges to try: each is added to the diagonal of the Gram matrix.",
        Numbers(),
        "0.01,0.1,1,10,100",
    ),
    option(
        "--weight-norm",
        "Norms of a hidden unit's input weights to try, for kinds that are not uniform.",
        Numbers(),
        "0.5,1,2,4",
    ),
    option(
        "--weight-range",
        "Ranges of uniform input weights to try: weights are in ± this.",
        Numbers(),
        "0.03125,0.0625,0.125,0.25,0.5",
    ),
    option(
        "--validation",
        "Training samples to hold out, the last ones.  [default: a sixth, MNIST's last 10,000]",
        COUNT,
        metavar="N",
    ),
)

# Network

seed_option = network(
    "--seed",
    "Root seed of all random weights: the same seed gives the same networks.",
    click.IntRange(0),
    0,
)


def bias_option(default: bool | None, more: str = "") -> Callable[[Function], Function]:
    """Whether units have a bias; `more` follows the help."""
    text = f"Whether each hidden unit has a random bias; the paper's have none.{more}"
    shown = default is not None
    return flag("--bias/--no-bias", text, default=default, show_default=shown, group=NETWORK)


def weight_range_option(default: float | None, more: str = "") -> Callable[[Function], Function]:
    """Of uniform weights; `more` follows the help."""
    return network("--weight-range", f"Uniform input weights are in ± this.{more}", float, default)


activation_options = together(
    seed_option,
    network(
        "--activation",
        "Activation function g of the hidden units, Eq. (2).",
        click.Choice(ACTIVATION_NAMES),
        "tanh",
    ),
    network(
        "--input-scale",
        "Inputs are multiplied by this, after any standardisation.  [default: 1/255 for bytes, else 1]",
        float,
    ),
    network(
        "--min-field",
        "Number of pixels of the smallest receptive field, for receptive-field weights.",
        COUNT,
        10,
    ),
)
unit_options = together(activation_options, bias_option(False))
scheme_option = network(
    "--input-weights",
    "uniform: the paper's. constrained: differences of two training samples of different classes. "
    "receptive-field: in a random rectangle of the image only.",
    click.Choice(INPUT_WEIGHTS),
    "uniform",
)
weight_norm_option = network(
    "--weight-norm",
    "Norm of each hidden unit's input weights, if they are not uniform.",
    float,
    2.0,
)
layer_options = together(
    unit_options, scheme_option, weight_range_option(PAPER_RANGE), weight_norm_option
)
suited_layer_options = together(  # of a network for use, whose defaults depend on the data
    activation_options,
    bias_option(None, "  [default: none for images, else one]"),
    scheme_option,
    weight_range_option(None, "  [default: 0.5 for images, else 1/√inputs with a bias]"),
    weight_norm_option,
)
output_options = together(
    network(
        "--priors",
        "Class priors π of Eq. (15): uniform, frequencies (of the training classes), or a number for "
        "each class, with commas.",
        default="uniform",
    ),
    network(
        "--precision",
        "mixed: float32 up to the Gram matrix, float64 from there. double: float64 throughout. "
        "bfloat16: mixed, with hidden outputs rounded to bfloat16, which matrix units (Intel AMX) "
        "multiply faster with elmlda[amx].",
        click.Choice(PRECISIONS),
        "mixed",
    ),
)
ridge_option = network(
    "--ridge", "Added to the diagonal of the Gram matrix; 0 is the paper's.", float, 0.0
)
network_options = together(
    data_options,
    network(
        "--design",
        "nested: fan-out f is the first part of one large network, which is fast. independent: new "
        "weights for each fan-out, as in the paper.",
        click.Choice(DESIGNS),
        "nested",
    ),
    layer_options,
    ridge_option,
    output_options,
)

# Machine

one_network_options = together(
    machine(
        "--threads",
        "BLAS threads of each network.  [default: the cores, divided by --jobs; fewer if "
        "OPENBLAS_NUM_THREADS or OMP_NUM_THREADS says so]",
        PROCESSES,
    ),
    machine(
        "--chunk",
        "Samples whose hidden outputs are in memory at a time: fewer take less memory and more time.",
        COUNT,
        DEFAULT_CHUNK,
    ),
)
resource_options = together(
    machine("--jobs", "Networks to train at the same time, each in its own process.", PROCESSES, 1),
    one_network_options,
)
cluster_option = machine(
    "--cluster",
    "Train on a Dask cluster instead: its scheduler's address, such as tcp://HOST:8786, or its "
    "scheduler file.",
    NameOrPath(),
    metavar="ADDRESS|FILE",
)

# Output

config_option = output(
    "--config",
    "Defaults for these options, in a TOML file or one of elmlda's own: paper, quick, shaped, choices, "
    "compare. Flags override it.",
    UserPath(),
    metavar="NAME|FILE",
    is_eager=True,
    expose_value=False,
    callback=read_config,
)
dry_run_option = flag("--dry-run", "Say what would be done and what it takes, and stop.", group=OUTPUT)
quiet_option = flag("--quiet", "Print nothing but errors.", group=OUTPUT)
last_options = together(config_option, dry_run_option, quiet_option)


run_options = together(
    output(
        "--out",
        "The run's folder; a run that is there goes on.  [default: results/<data set>]",
        UserPath(),
        metavar="DIR",
    ),
    last_options,
)
experiment_options = together(network_options, resource_options, cluster_option, run_options)


def study_options(folder: str, what: str) -> Callable[[Function], Function]:
    """How several runs are conducted, and where: in `folder` by default, one for each `what`."""
    text = f"Folder with a run for each {what}; runs that are there go on."
    out = output("--out", text, UserPath(), Path(folder), metavar="DIR")
    return together(resource_options, cluster_option, out, last_options)
