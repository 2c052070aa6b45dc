"""Calibrated posteriors: the paper's are overconfident, and a temperature corrects them."""

import numpy as np
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

from elmlda import ELMClassifier, ELMEnsembleClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

network = make_pipeline(StandardScaler(), ELMClassifier(random_state=0))
papers = ELMClassifier(temperature=1, random_state=0)
method = "temperature" if parse_version(sklearn.__version__) >= parse_version("1.8") else "sigmoid"
classifiers = {
    "temperature 1": make_pipeline(StandardScaler(), papers),
    "one network": network,
    "the same, calibrated": CalibratedClassifierCV(network, method=method, ensemble=False),
    "ten networks": make_pipeline(StandardScaler(), ELMEnsembleClassifier(random_state=0)),
}
for name, classifier in classifiers.items():
    posteriors = classifier.fit(X_train, y_train).predict_proba(X_test)
    errors = 100 * np.mean(classifier.predict(X_test) != y_test)
    print(f"{name:23} {errors:.2f} % errors, log-loss {log_loss(y_test, posteriors):.3f}")
