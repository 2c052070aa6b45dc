"""Train on a file that need not fit in memory, batch by batch, and continue another day."""

import pickle
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from elmlda import ELMClassifier

X, y = load_digits(return_X_y=True)
with tempfile.TemporaryDirectory() as folder:
    np.save(Path(folder, "images.npy"), X)
    np.save(Path(folder, "labels.npy"), y)
    images = np.load(Path(folder, "images.npy"), mmap_mode="r")  # read from disk as it is used
    labels = np.load(Path(folder, "labels.npy"), mmap_mode="r")

    # Only fit can choose the weight range, because a stream has no samples yet.
    stream = ELMClassifier(weight_range=0.2, random_state=0)
    for start in range(0, 900, 100):
        batch = slice(start, start + 100)
        stream.partial_fit(images[batch] / 16, labels[batch], classes=np.arange(10))
    print(f"{100 * stream.score(X[1500:] / 16, y[1500:]):.1f} % right after 900 digits")

    Path(folder, "checkpoint").write_bytes(pickle.dumps(stream))
    stream = pickle.loads(Path(folder, "checkpoint").read_bytes())
    for start in range(900, 1500, 100):
        batch = slice(start, start + 100)
        stream.partial_fit(images[batch] / 16, labels[batch])
    print(f"{100 * stream.score(X[1500:] / 16, y[1500:]):.1f} % right after 1500 digits")

at_once = ELMClassifier(weight_range=0.2, random_state=0).fit(X[:1500] / 16, y[:1500])
same = np.array_equal(stream.predict(X / 16), at_once.predict(X / 16))
print("the same network as from all at once:", same)
