"""Baselines that a sweep records beside its networks: majority class and logistic regression.

MNIST has none, because its numbers stand beside the paper's.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import numpy as np

from elmlda.datasets.catalogue import is_mnist
from elmlda.datasets.split import Dataset

MAJORITY, LOGISTIC_REGRESSION = "majority", "logistic_regression"
MOST_PRODUCTS = 20_000_000
"""Largest training samples × inputs × classes for logistic regression, which takes some seconds."""


def list_baselines(data: Dataset) -> list[str]:
    """Return the methods that are recorded for a data set; scikit-learn may not be installed."""
    if is_mnist(data.checksums):
        return []
    is_small = data.train.inputs.size * data.n_classes <= MOST_PRODUCTS
    return [MAJORITY, *([LOGISTIC_REGRESSION] if is_small and find_spec("sklearn") else [])]


def count_baseline_errors(data: Dataset, method: str) -> int:
    """Train a baseline on the training part, and count its errors on the test part."""
    assert data.test is not None
    train, test = data.train, data.test
    if method == MAJORITY:
        return int((test.labels != train.count_classes(data.n_classes).argmax()).sum())
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the last iteration is as good as its neighbours
        model.fit(train.inputs, train.labels)
    return int(np.count_nonzero(model.predict(test.inputs) != test.labels))
