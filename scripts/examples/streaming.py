"""Train on a file that does not fit into memory, batch by batch, and continue another day."""

import pickle
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from elmlda import ELMClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = X[:1500] / 16, X[1500:] / 16, y[:1500], y[1500:]
with tempfile.TemporaryDirectory() as folder:
    np.save(Path(folder, "images.npy"), X_train)
    images = np.load(Path(folder, "images.npy"), mmap_mode="r")  # read from disk when needed

    stream = ELMClassifier(random_state=0)
    for start in range(0, 1500, 100):
        batch = slice(start, start + 100)
        stream.partial_fit(images[batch], y_train[batch], classes=range(10))
        if start == 500:
            print(f"after  600 samples {100 * stream.score(X_test, y_test):5.1f} % right")
            Path(folder, "saved").write_bytes(pickle.dumps(stream))
            stream = pickle.loads(Path(folder, "saved").read_bytes())
    print(f"after 1500 samples {100 * stream.score(X_test, y_test):5.1f} % right")

at_once = ELMClassifier(random_state=0).fit(X_train, y_train)
same = np.array_equal(stream.predict(X_test), at_once.predict(X_test))
print(f"same predictions as after one fit: {same}")

# Output:
# after  600 samples  92.9 % right
# after 1500 samples  95.3 % right
# same predictions as after one fit: True
