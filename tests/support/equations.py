"""Hidden outputs to solve for, and the paper's equations taken literally."""

import numpy as np

from elmlda.core.sums import Sums


def draw_samples(seed, n_samples, n_hidden, n_classes, spread=1.0):
    """Hidden outputs of overlapping classes, each of which has samples, and their labels."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n_samples) % n_classes)
    means = rng.normal(size=(n_classes, n_hidden))
    return np.tanh(means[labels] * spread / 2 + rng.normal(size=(n_samples, n_hidden))), labels


def accumulate(hidden, labels, n_classes, dtype=np.float64):
    sums = Sums.zeros(hidden.shape[1], n_classes, dtype)
    sums.add(np.ascontiguousarray(hidden, dtype), labels)
    return sums


def literal_lda(hidden, labels, priors, ridge=0.0):
    """W of Eq. (16), from Eq. (12) class by class; KΣ + λI with a ridge."""
    n_samples, n_hidden = hidden.shape
    means = [hidden[labels == n].mean(axis=0) for n in range(len(priors))]
    covariance = ridge * np.eye(n_hidden) / n_samples
    for a, label in zip(hidden, labels, strict=True):
        covariance += np.outer(a - means[label], a - means[label]) / n_samples
    columns = []
    for mean, prior in zip(means, priors, strict=True):
        direction = np.linalg.solve(covariance, mean)
        columns.append([np.log(prior) - mean @ direction / 2, *direction])
    return np.array(columns).T
