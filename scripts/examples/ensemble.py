"""An ensemble averages the probabilities of networks with different random weights."""

from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from elmlda import ELMEnsembleClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0, stratify=y)
print("networks  errors  log-loss")
for n_networks in (1, 2, 5, 10, 20):
    ensemble = ELMEnsembleClassifier(n_networks, fanout=2, random_state=0).fit(X_train, y_train)
    errors = (ensemble.predict(X_test) != y_test).sum()
    print(f"{n_networks:8}{errors:8}{log_loss(y_test, ensemble.predict_proba(X_test)):10.3f}")

# Output:
# networks  errors  log-loss
#        1      12     0.122
#        2      17     0.081
#        5       7     0.063
#       10       7     0.058
#       20       6     0.059
