"""Average the posterior probabilities of several networks."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from elmlda import ELMClassifier, ELMEnsembleClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0, stratify=y)

alone = [ELMClassifier(fanout=5, random_state=seed).fit(X_train, y_train) for seed in range(10)]
scores = [100 * network.score(X_test, y_test) for network in alone]
print(f"one network   {np.mean(scores):.1f} % right, the mean of ten")
ensemble = ELMEnsembleClassifier(10, fanout=5, random_state=0).fit(X_train, y_train)
print(f"ten averaged  {100 * ensemble.score(X_test, y_test):.1f} % right")
