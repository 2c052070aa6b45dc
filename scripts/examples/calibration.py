"""Posteriors that mean what they say: a single network is too sure, and calibration corrects it."""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from elmlda import ELMClassifier, ELMEnsembleClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0, stratify=y)

network = ELMClassifier(ridge="auto", random_state=0)
classifiers = {
    "one network": network,
    "calibrated, sigmoid": CalibratedClassifierCV(network, method="sigmoid"),
    "calibrated, isotonic": CalibratedClassifierCV(network, method="isotonic"),
    "ten networks": ELMEnsembleClassifier(ridge="auto", random_state=0),
}
for name, classifier in classifiers.items():
    posteriors = classifier.fit(X_train, y_train).predict_proba(X_test)
    errors = 100 * np.mean(classifier.predict(X_test) != y_test)
    print(f"{name:22} {errors:.2f} % errors, log-loss {log_loss(y_test, posteriors):.3f}")
