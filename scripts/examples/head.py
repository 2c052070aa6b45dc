"""A linear classifier on features: regularisation and probabilities without a validation set.

The features approximate a Gaussian kernel. RidgeClassifierCV has no probabilities. LogisticRegression
does not choose its regularisation.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from elmlda import LDAClassifierCV

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0, stratify=y)
features = Nystroem(gamma=0.2, n_components=1000, random_state=0).fit(X_train)
for classifier in (
    RidgeClassifierCV(np.logspace(-6, 3, 10)),
    LogisticRegression(max_iter=2000),
    LDAClassifierCV(random_state=0),
):
    model = make_pipeline(features, StandardScaler(), classifier).fit(X_train, y_train)
    line = f"{type(classifier).__name__:20}{100 * model.score(X_test, y_test):6.1f} % right"
    if hasattr(model, "predict_proba"):
        line += f", log-loss {log_loss(y_test, model.predict_proba(X_test)):.3f}"
    print(line)
print(f"estimated without a test set, by leave-one-out: log-loss {classifier.loo_log_loss_:.3f}")

# Output:
# RidgeClassifierCV     99.1 % right
# LogisticRegression    99.3 % right, log-loss 0.027
# LDAClassifierCV       99.3 % right, log-loss 0.022
# estimated without a test set, by leave-one-out: log-loss 0.035
