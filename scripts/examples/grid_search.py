"""Choose the number of hidden units by grid search. Leave-one-out chooses the ridge."""

from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split

from elmlda import ELMClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0, stratify=y)
search = GridSearchCV(
    ELMClassifier(random_state=0),
    {"fanout": [1, 2, 5, 10]},
    cv=3,
)
search.fit(X_train, y_train)
print("best:", search.best_params_)
print(f"{100 * search.score(X_test, y_test):.1f} % right on held-out digits")
