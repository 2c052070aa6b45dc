"""Peers: well-known libraries that train each fan-out by itself.

A peer gets the scaled inputs and input weights of elmlda's networks and does the rest: hidden outputs
of all samples, training, testing. Its library is imported when it is needed.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from elmlda.core.arrays import FloatArray, IntArray, RealArray
from elmlda.core.hidden import ACTIVATIONS, scale_inputs
from elmlda.datasets import Dataset
from elmlda.machine import available_memory
from elmlda.networks.steps import HIDDEN_DTYPES
from elmlda.settings import ACTIVATION_NAMES, NetworkSettings

LIBRARY_BYTES = 100_000_000
"""Memory of a peer's library itself: its modules, BLAS's buffers."""


@dataclass(frozen=True, eq=False)
class PeerTask:
    """What every peer is given before its time starts."""

    train_inputs: FloatArray
    """n_train × n_inputs, scaled, in the hidden layer's precision."""
    train_labels: IntArray
    test_inputs: FloatArray
    n_classes: int
    activation: str
    chunk: int
    """Samples at a time, for peers that work in batches."""

    @classmethod
    def prepare(cls, dataset: Dataset, settings: NetworkSettings, chunk: int) -> Self:
        """Scale the inputs as elmlda's hidden layer does."""
        dtype = HIDDEN_DTYPES[settings.precision]
        scale = dataset.input_scale if settings.input_scale is None else settings.input_scale

        def scaled(inputs: RealArray) -> FloatArray:
            return scale_inputs(inputs, scale, dtype, settings.bias)

        train, test = scaled(dataset.train.inputs), scaled(dataset.test.inputs)
        labels, n_classes = dataset.train.labels, dataset.n_classes
        return cls(train, labels, test, n_classes, settings.activation, chunk)

    @property
    def targets(self) -> FloatArray:
        """One-hot classes of the training samples: n_train × n_classes."""
        return np.eye(self.n_classes, dtype=self.train_inputs.dtype)[self.train_labels]

    def hidden(self, inputs: FloatArray, input_weights: FloatArray) -> FloatArray:
        """Hidden outputs in plain numpy, all samples at once: np.tanh(X @ W)."""
        outputs = inputs @ input_weights
        ACTIVATIONS[self.activation](outputs)
        return outputs

    def hidden_bytes(self, n_hidden: int) -> int:
        """Size of the training samples' hidden outputs."""
        return len(self.train_inputs) * n_hidden * self.train_inputs.itemsize


def predict_by_hpelm(task: PeerTask, input_weights: FloatArray) -> IntArray:
    """PI-ELM by hpelm, the toolbox for ELMs: batches, syrk and posv in the hidden precision."""
    from hpelm import ELM

    n_inputs, n_hidden = input_weights.shape
    precision = "single" if task.train_inputs.dtype == np.float32 else "double"
    elm = ELM(n_inputs, task.n_classes, precision=precision, batch=task.chunk)
    elm.add_neurons(n_hidden, "tanh", input_weights, np.zeros(n_hidden))
    elm.train(task.train_inputs, task.targets)
    return np.asarray(elm.predict(task.test_inputs).argmax(axis=1))


def predict_by_ridge(task: PeerTask, input_weights: FloatArray) -> IntArray:
    """PI-ELM by scikit-learn's normal equations.

    RidgeClassifier's targets are ±1. With T of Eq. (4) they are 2T - 1, so the scores are twice PI's
    less the same number for every class: the highest is at the same class.
    """
    from sklearn.linear_model import RidgeClassifier

    model = RidgeClassifier(alpha=0.0, solver="cholesky", fit_intercept=False)
    model.fit(task.hidden(task.train_inputs, input_weights), task.train_labels)
    return np.asarray(model.predict(task.hidden(task.test_inputs, input_weights)))


def predict_by_lda(task: PeerTask, input_weights: FloatArray) -> IntArray:
    """LDA-ELM by scikit-learn; its priors are the class frequencies, and Σ is then Eq. (12)'s."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    model = LinearDiscriminantAnalysis(solver="lsqr")
    model.fit(task.hidden(task.train_inputs, input_weights), task.train_labels)
    return np.asarray(model.predict(task.hidden(task.test_inputs, input_weights)))


def predict_by_pinv(task: PeerTask, input_weights: FloatArray) -> IntArray:
    """PI-ELM as Eq. (5) is written: the pseudo-inverse of the hidden outputs, times the targets."""
    output_weights = np.linalg.pinv(task.hidden(task.train_inputs, input_weights)) @ task.targets
    scores = task.hidden(task.test_inputs, input_weights) @ output_weights
    return np.asarray(scores.argmax(axis=1))


def _hpelm_bytes(task: PeerTask, n_hidden: int) -> int:
    itemsize = task.train_inputs.itemsize
    rows = max(min(task.chunk, len(task.train_inputs)), len(task.test_inputs))
    # HH with the copy that each batch makes; hidden outputs with those before bias and tanh.
    return itemsize * (3 * n_hidden**2 + 3 * rows * n_hidden)


def _ridge_bytes(task: PeerTask, n_hidden: int) -> int:
    # Hidden outputs, a copy (copy_X) and one scaled by the sample weights, all ones.
    return 3 * task.hidden_bytes(n_hidden) + 3 * task.train_inputs.itemsize * n_hidden**2


def _lda_bytes(task: PeerTask, n_hidden: int) -> int:
    # np.cov works in float64 on a class's samples, with two copies; lstsq copies Σ.
    largest = int(np.bincount(task.train_labels).max())
    one_class = (task.train_inputs.itemsize + 3 * 8) * largest * n_hidden
    return task.hidden_bytes(n_hidden) + one_class + 5 * 8 * n_hidden**2


def _pinv_bytes(task: PeerTask, n_hidden: int) -> int:
    # The singular value decomposition is in float64 whatever it is given.
    return 2 * task.hidden_bytes(n_hidden) + 4 * 8 * len(task.train_inputs) * n_hidden


@dataclass(frozen=True)
class Peer:
    """One way to train and test one fan-out."""

    method: str
    """Which of elmlda's methods it is: pi or lda."""
    call: str
    """The call, for display."""
    distribution: str
    module: str
    predict: Callable[[PeerTask, FloatArray], IntArray]
    """PeerTask and input weights (n_inputs × n_hidden) in, the test samples' classes out."""
    needed_bytes: Callable[[PeerTask, int], int]
    """Memory that it takes with so many hidden units, beside the task."""
    activations: tuple[str, ...] = ACTIVATION_NAMES


PEERS = {
    "hpelm": Peer(
        "pi", "hpelm.ELM", "hpelm", "hpelm", predict_by_hpelm, _hpelm_bytes, activations=("tanh",)
    ),
    "sklearn-ridge": Peer(
        "pi",
        'sklearn.linear_model.RidgeClassifier(alpha=0, solver="cholesky", fit_intercept=False)',
        "scikit-learn",
        "sklearn.linear_model",
        predict_by_ridge,
        _ridge_bytes,
    ),
    "sklearn-lda": Peer(
        "lda",
        'sklearn.discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr")',
        "scikit-learn",
        "sklearn.discriminant_analysis",
        predict_by_lda,
        _lda_bytes,
    ),
    "pinv": Peer(
        "pi", "numpy.linalg.pinv", "numpy", "numpy.linalg", predict_by_pinv, _pinv_bytes
    ),
}  # fmt: skip
"""By name, in the order in which they are timed."""


def why_absent(name: str, activation: str) -> str | None:
    """Why a peer cannot take part, None if it can; imports its library."""
    peer = PEERS[name]
    if activation not in peer.activations:
        return f"has no {activation} units like elmlda's, only {', '.join(peer.activations)}"
    try:
        with warnings.catch_warnings():
            # hpelm 1.0.10 compares strings with `is`, which Python remarks on when it compiles it.
            warnings.simplefilter("ignore", SyntaxWarning)
            importlib.import_module(peer.module)
    except ModuleNotFoundError as error:
        return f"not installed ({error}): pip install 'elmlda[bench]'"
    except Exception as error:  # an old library may fail in any way with a new numpy
        return f"cannot be imported: {type(error).__name__}: {error}"
    return None


def why_too_large(name: str, task: PeerTask, n_hidden: int) -> str | None:
    """Why a peer cannot be run with so many hidden units, None if there is enough memory."""
    needed = LIBRARY_BYTES + PEERS[name].needed_bytes(task, n_hidden)
    available = available_memory()
    if available is None or needed <= available:
        return None
    return (
        f"{n_hidden:,} hidden units need {needed / 1e9:.1f} GB of memory, "
        f"{available / 1e9:.1f} GB are free"
    )
