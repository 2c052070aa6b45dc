#!/usr/bin/env python3
"""Compare `ELMClassifier` with LogisticRegression and SVC on sets that no default was chosen on.

Scikit-learn's generators and digits; standardised, five stratified folds; all classifiers with their
defaults (LogisticRegression with 2,000 iterations). Writes results/panel/generated.md:

    .venv/bin/python scripts/generated.py
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from comparison import to_markdown
from scipy.stats import gmean
from sklearn.datasets import load_digits, make_blobs, make_circles, make_classification, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from elmlda import ELMClassifier

SETS = {
    "circles": make_circles(1000, noise=0.2, factor=0.5, random_state=0),
    "moons": make_moons(1000, noise=0.2, random_state=0),
    "blobs, four classes": make_blobs(1000, centers=4, cluster_std=2.5, random_state=0),
    "three classes, 20 features": make_classification(
        1000, n_classes=3, n_informative=8, random_state=0
    ),
    "digits": load_digits(return_X_y=True),
}
CLASSIFIERS = {
    "ELMClassifier": ELMClassifier(random_state=0),
    "LogisticRegression": LogisticRegression(max_iter=2000),
    "SVC": SVC(probability=True, random_state=0),
}


def main() -> None:
    """Measure all classifiers and write the table."""
    folds, measures = StratifiedKFold(5, shuffle=True, random_state=0), ("accuracy", "neg_log_loss")
    table = {}
    for name, (samples, labels) in SETS.items():
        row = {}
        for method, classifier in CLASSIFIERS.items():
            pipeline = make_pipeline(StandardScaler(), classifier)
            scores = cross_validate(pipeline, samples, labels, cv=folds, scoring=measures)
            row[f"{method}: log-loss"] = -scores["test_neg_log_loss"].mean()
            row[f"{method}: accuracy, %"] = 100 * scores["test_accuracy"].mean()
        table[name] = row
        print(name, flush=True)
    rows = pd.DataFrame.from_dict(table, orient="index").rename_axis("data set")
    losses, accuracies = (rows.filter(like=measure) for measure in ("log-loss", "accuracy"))
    rows["ratio"] = losses.iloc[:, 0] / losses.iloc[:, 1:].min(axis=1)
    rows["behind, points"] = accuracies.iloc[:, 1:].max(axis=1) - accuracies.iloc[:, 0]
    verdicts = [
        f"- Log-loss divided by the better of the two, geometric mean: {gmean(rows['ratio']):.3f} "
        "(target: at most 0.9)",
        f"- Accuracy behind the better of the two, at most: {rows['behind, points'].max():.1f} points "
        "(target: at most 3)",
    ]
    heading = "# ELMClassifier on scikit-learn's generators and digits"
    text = "\n".join([heading, "", __doc__.split("\n\n")[1], "", *verdicts, "", to_markdown(rows), ""])
    path = Path(__file__).resolve().parents[1] / "results" / "panel" / "generated.md"
    path.write_text(text.replace("Writes results/panel/generated.md:", "By `scripts/generated.py`."))


if __name__ == "__main__":
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # SVC's probabilities are deprecated
        main()
