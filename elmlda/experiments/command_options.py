"""The options of each experiment, of train and of bench, light to import like those that they share."""

from __future__ import annotations

from collections.abc import Iterable

from elmlda.experiments.options import (
    OUTPUT,
    ContestantNames,
    DataOptions,
    LayerOptions,
    NameOrPath,
    NetworkOptions,
    Numbers,
    Ridge,
    RidgeOptions,
    SourceOptions,
    UnitOptions,
    WholeNumbers,
    fanout_setting,
    fanouts_setting,
    hidden_setting,
    hidden_sizes_setting,
    inherited,
    input_weights_setting,
    machine,
    network,
    repeated,
    setting,
)
from elmlda.settings import ACTIVATION_NAMES, COMBINATIONS, DEFAULT_RIDGE, INPUT_WEIGHTS, OUTPUTS, RULES


@inherited
class SweepOptions(NetworkOptions):
    """Options of elmlda sweep."""

    fanouts: WholeNumbers = fanouts_setting("1-20")
    hidden: WholeNumbers | None = hidden_sizes_setting()
    repeats: int = repeated(200, "Networks with new random weights; the paper has 200.")
    split_rows: int = machine(
        1,
        "Divide each network's training samples into P blocks, one for each worker: for networks or "
        "data that are too large for one. Networks are then trained one after the other.",
        metavar="P",
    )
    posteriors: bool = setting(
        True,
        "Keep each network's test posteriors at the largest size, for elmlda ensemble.",
        group=OUTPUT,
    )


@inherited
class EnsembleOptions(NetworkOptions):
    """Options of elmlda ensemble."""

    n: int = repeated(20, "Networks in the largest ensemble; all sizes up to it are evaluated.")
    fanout: int = fanout_setting(20)
    hidden: int | None = hidden_setting()
    repeats: int = repeated(10, "Ensembles of new networks; the paper has 10.")
    combine: str | Iterable[str] = setting(
        "mean",
        "How posteriors are combined; may be given several times.",
        choices=COMBINATIONS,
        multiple=True,
    )


@inherited
class CalibrationOptions(NetworkOptions):
    """Options of elmlda calibration."""

    fanouts: WholeNumbers = setting(
        "1,5,20", "Hidden units for each input; networks of the largest are combined.", flags="--fanout"
    )
    n: WholeNumbers = setting("1,2,5,20", "How many networks are combined.")
    repeats: int = repeated(10, "Groups of the most networks; single networks at smaller fan-outs.")
    train: bool = setting(True, "Train the networks whose posteriors are not kept, or leave them out.")


@inherited
class TimingOptions(NetworkOptions):
    """Options of elmlda timing."""

    fanouts: WholeNumbers = fanouts_setting("1-20")
    repeats: int = repeated(3, "Times that each method is timed at each fan-out.")


@inherited
class CompareOneOptions(SourceOptions, LayerOptions):
    """What is the same for every data set of a comparison."""

    fanouts: WholeNumbers = fanouts_setting("1-5,10,20")
    hidden: WholeNumbers | None = hidden_sizes_setting()
    folds: int = setting(
        10,
        "Folds of stratified cross-validation, for sets without a test part of their own.",
        limits=(2, 10_000),
    )
    repeats: int = repeated(
        10, "Cross-validations, or networks for sets with a test part of their own."
    )
    rules: Iterable[str] = setting(
        RULES,
        "The ridge: none as in the paper, or chosen by generalised cross-validation (gcv) on the "
        "training part; may be given twice.",
        flags="--rule",
        choices=RULES,
        multiple=True,
    )


@inherited
class CompareOptions(CompareOneOptions):
    """Options of elmlda compare."""

    datasets: NameOrPath | Iterable[NameOrPath] = setting(
        ("iris", "wine", "abalone", "satimage"),
        "Data sets of the catalogue with commas, or your own .npz or .csv; may be given again.",
        flags="--dataset",
        metavar="NAMES",
        multiple=True,
    )


@inherited
class GridOptions:
    """Values to choose from by held-out training samples."""

    ridge: Numbers = setting(
        (0.01, 0.1, 1.0, 10.0, 100.0),
        "Ridges to try: each is added to the diagonal of the Gram matrix.",
    )
    weight_norm: Numbers = setting(
        (0.5, 1.0, 2.0, 4.0),
        "Norms of a hidden unit's input weights to try, for kinds that are not uniform.",
    )
    weight_range: Numbers = setting(
        (0.03125, 0.0625, 0.125, 0.25, 0.5),
        "Ranges of uniform input weights to try: weights are in ± this.",
    )
    validation: int | None = setting(
        None, "Training samples to hold out, the last ones.  [default: a sixth, MNIST's last 10,000]"
    )


@inherited
class TuneOptions(GridOptions, DataOptions, UnitOptions):
    """Options of elmlda tune."""

    fanout: int = fanout_setting(5)
    hidden: int | None = hidden_setting()
    repeats: int = repeated(3, "Networks with new random weights for each setting.")
    input_weights: str = input_weights_setting()


@inherited
class ShapedOptions(GridOptions, DataOptions, UnitOptions):
    """Options of elmlda shaped."""

    schemes: Iterable[str] = setting(
        INPUT_WEIGHTS,
        "Kind of input weights; may be given several times.",
        flags="--scheme schemes",
        choices=INPUT_WEIGHTS,
        multiple=True,
    )
    fanouts: WholeNumbers = fanouts_setting("1-20")
    repeats: int = repeated(5, "Networks with new random weights.")
    tune_fanout: int = setting(5, "Fan-out at which norm and ridge are chosen.")
    tune_repeats: int = repeated(3, "Networks for each setting that is tried.")
    widen: int = setting(
        2, "How often values may be added where the best one is the smallest or largest.", limits=(0, 5)
    )
    n: int = repeated(10, "Networks in an ensemble.")
    ensembles: int = repeated(3, "Ensembles of each method, of its best kind of input weights.")


@inherited
class ChoicesOptions(DataOptions, RidgeOptions):
    """Options of elmlda choices."""

    activations: Iterable[str] = setting(
        ("tanh", "logistic", "softsign"),
        "Activation function of the hidden units; may be given several times.",
        flags="--activation activations",
        choices=ACTIVATION_NAMES,
        multiple=True,
    )
    divisors: Numbers = setting(
        (1.0, 255.0),
        "Inputs are divided by this, as they are stored; several with commas.",
        flags="--divisor divisors",
    )
    fanouts: WholeNumbers = fanouts_setting("1-3")
    repeats: int = repeated(30, "Networks with new random weights.")


@inherited
class TrainOptions(DataOptions, LayerOptions):
    """Of a network for use, whose defaults depend on the data where they are None."""

    fanout: int | None = fanout_setting(
        None, "  [default: 10, but at least 500 units if the data are not images]"
    )
    hidden: int | None = hidden_setting()
    output: str = setting(
        "lda", "Output weights by LDA, with posteriors, or by the pseudo-inverse (pi).", choices=OUTPUTS
    )
    n: int = repeated(1, "Networks: more than one are an ensemble.")
    combine: str = setting("mean", "How an ensemble combines its posteriors.", choices=COMBINATIONS)
    bias: bool | None = network(  # type: ignore[assignment]
        None,
        "Whether each hidden unit has a random bias; the paper's have none.  "
        "[default: none for images, else one]",
    )
    weight_range: float | None = network(  # type: ignore[assignment]
        None,
        "Uniform input weights are in ± this.  [default: 0.5 for images, else 1/√inputs with a bias]",
    )
    ridge: Ridge = network(
        DEFAULT_RIDGE,
        "Added to the diagonal of the Gram matrix; 0 is the paper's, auto chooses it by generalised "
        "cross-validation.",
    )


@inherited
class BenchOptions(DataOptions, LayerOptions, RidgeOptions):
    """Options of elmlda bench."""

    fanouts: WholeNumbers = fanouts_setting("1-10")
    peers: ContestantNames = setting(
        "none",
        "What to time besides: all, none, or some of independent, hpelm, sklearn-ridge, sklearn-lda, "
        "pinv, with commas.",
    )
    peer_fanouts: WholeNumbers | None = setting(
        None,
        "Time the peers at these fan-outs only, and fit a law of cost for the others.  "
        "[default: all of --fanout]",
    )
    precisions: bool = setting(
        False,
        "Time the nested network in every precision, against the limit of float32 and of its own.",
        flags="--precisions",
    )
    growth: WholeNumbers | None = setting(
        None,
        "Time and peak memory of the nested network up to each of these fan-outs, each in a process of "
        "its own, such as 1,2,3,5,7,10,14,20.",
    )
