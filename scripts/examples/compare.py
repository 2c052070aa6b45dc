"""Compare with scikit-learn's MLPClassifier and LogisticRegression on its digits."""

import time

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier

from elmlda import ELMClassifier, ELMEnsembleClassifier

X, y = load_digits(return_X_y=True)
X = X / 16
classifiers = {
    "LogisticRegression()": LogisticRegression(max_iter=1000),
    "MLPClassifier()": MLPClassifier(max_iter=500, random_state=0),
    "ELMClassifier()": ELMClassifier(random_state=0),
    "ELMEnsembleClassifier()": ELMEnsembleClassifier(random_state=0),
}
folds = StratifiedKFold(3, shuffle=True, random_state=0)
print(f"{'3-fold cross-validation':36} errors, %  log-loss  seconds to fit")
for name, classifier in classifiers.items():
    errors, losses, seconds = [], [], []
    for train, test in folds.split(X, y):
        start = time.perf_counter()
        classifier.fit(X[train], y[train])
        seconds.append(time.perf_counter() - start)
        errors.append(100 - 100 * classifier.score(X[test], y[test]))
        losses.append(log_loss(y[test], classifier.predict_proba(X[test])))
    mean_error, mean_loss, mean_seconds = (sum(v) / len(v) for v in (errors, losses, seconds))
    print(f"{name:36} {mean_error:9.2f}  {mean_loss:8.3f}  {mean_seconds:14.2f}")
