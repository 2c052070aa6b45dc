"""Find wrong labels: each sample is judged by the classifier that was trained without it.

Ten per cent of the labels are replaced by wrong ones. mislabelled.png shows the most suspicious samples
among those with their original labels.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from elmlda import ELMClassifier

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
changed = rng.random(len(y)) < 0.1
labels = np.where(changed, (y + rng.integers(1, 10, len(y))) % 10, y)

network = ELMClassifier(store_loo=True, random_state=0).fit(X / 16, labels)
given = network.loo_predict_proba_[np.arange(len(y)), labels]  # probability of the given label
suspects = np.argsort(given)
for n_checked in (50, 100, 200, 300):
    n_found = changed[suspects[:n_checked]].sum()
    print(f"the {n_checked} most suspicious samples have {n_found} of {changed.sum()} wrong labels")

fig, axes = plt.subplots(1, 8, figsize=(7, 1.3))
for ax, i in zip(axes, suspects[~changed[suspects]], strict=False):
    ax.imshow(X[i].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"label {labels[i]}\nseems {network.loo_predict_proba_[i].argmax()}", fontsize=8)
    ax.axis("off")
fig.savefig(sys.argv[1] if len(sys.argv) > 1 else "mislabelled.png", dpi=120, bbox_inches="tight")

# Output:
# the 50 most suspicious samples have 50 of 179 wrong labels
# the 100 most suspicious samples have 100 of 179 wrong labels
# the 200 most suspicious samples have 178 of 179 wrong labels
# the 300 most suspicious samples have 179 of 179 wrong labels
