"""Pipelines: standardised features, and hidden units with a bias."""

from sklearn.datasets import load_breast_cancer, make_circles
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from elmlda import ELMClassifier


def show(name, classifier, data):
    """Print a classifier's accuracy."""
    accuracy = cross_val_score(classifier, *data, cv=5)
    print(f"{name:32} {100 * accuracy.mean():.1f} % right in 5-fold cross-validation")


network = ELMClassifier(n_hidden=100, random_state=0)
cancer = load_breast_cancer(return_X_y=True)
show("breast cancer, unscaled", network, cancer)
show("breast cancer, scaled", make_pipeline(StandardScaler(), network), cancer)

# The paper's hidden units have no bias. Because tanh is odd, x and -x get the same class.
circles = make_circles(500, noise=0.1, factor=0.5, random_state=0)
show("circles, without a bias", ELMClassifier(n_hidden=100, bias=False, random_state=0), circles)
show("circles", network, circles)
