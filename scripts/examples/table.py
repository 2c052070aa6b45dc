"""ELMClassifier with its defaults on a small table, beside scikit-learn's classifiers.

results/panel/report.md compares them on many tables.
"""

from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from elmlda import ELMClassifier

X, y = load_wine(return_X_y=True, as_frame=True)  # 178 rows, 13 columns
folds = StratifiedKFold(5, shuffle=True, random_state=0)
print("5-fold cross-validation          right  log-loss")
for classifier in (
    LogisticRegression(),
    RandomForestClassifier(random_state=0),
    HistGradientBoostingClassifier(random_state=0),
    ELMClassifier(random_state=0),
):
    model = make_pipeline(StandardScaler(), classifier)
    scores = cross_validate(model, X, y, cv=folds, scoring=("accuracy", "neg_log_loss"))
    right, loss = 100 * scores["test_accuracy"].mean(), -scores["test_neg_log_loss"].mean()
    print(f"{type(classifier).__name__:30}{right:6.1f} %{loss:10.3f}")

# Output:
# 5-fold cross-validation          right  log-loss
# LogisticRegression              98.3 %     0.063
# RandomForestClassifier          97.2 %     0.141
# HistGradientBoostingClassifier  97.2 %     0.065
# ELMClassifier                   98.3 %     0.039
