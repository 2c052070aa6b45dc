#!/usr/bin/env python3
"""Plot the reliability of LDA-ELM's and the linear head's probabilities on satimage.

    .venv/bin/python scripts/reliability.py

writes results/estimators/reliability.svg.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from sklearn.calibration import calibration_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from elmlda import ELMClassifier, LDAClassifierCV, load_dataset
from elmlda.core.evaluate import N_BINS, log_loss

PATH = Path(__file__).resolve().parents[1] / "results" / "estimators" / "reliability.svg"
CLASSIFIERS = {
    "LDA-ELM, temperature 1 (the paper's)": (ELMClassifier(temperature=1, random_state=0), "#b87a00"),
    "ELMClassifier()": (ELMClassifier(random_state=0), "#0072b2"),
    "LDAClassifierCV(temperature=1)": (LDAClassifierCV(temperature=1), "#d55e00"),
    "LDAClassifierCV()": (LDAClassifierCV(), "#009e73"),
}


def main() -> None:
    """Fit the classifiers to the training samples and plot accuracy against confidence."""
    data = load_dataset("satimage")
    figure = Figure(figsize=(6, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], "--", color="black", linewidth=0.8)
    for name, (classifier, color) in CLASSIFIERS.items():
        pipeline = make_pipeline(StandardScaler(), classifier)
        pipeline.fit(np.asarray(data.train.inputs, float), data.train.labels)
        posteriors = pipeline.predict_proba(np.asarray(data.test.inputs, float))
        is_right = posteriors.argmax(axis=1) == data.test.labels
        loss = log_loss(posteriors, data.test.labels)
        accuracy, confidence = calibration_curve(
            is_right, posteriors.max(axis=1), n_bins=N_BINS, strategy="quantile"
        )
        label = f"{name}: log-loss {loss:.3f}"
        axes.plot(confidence, accuracy, "o-", color=color, markersize=4, label=label)
    axes.set(xlabel="Mean probability of the predicted class", ylabel="Share of right predictions")
    axes.set(xlim=(0.2, 1.01), ylim=(0.2, 1.01), title="Test samples of satimage")
    axes.legend(loc="lower right")
    with rc_context({"svg.hashsalt": "reliability"}):
        figure.savefig(PATH, metadata={"Date": None})


if __name__ == "__main__":
    main()
