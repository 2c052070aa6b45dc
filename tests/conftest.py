import os
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from idx_files import idx_bytes
from threadpoolctl import threadpool_limits

from elmlda.datasets.catalogue import load_dataset
from elmlda.datasets.split import Dataset, Split

if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1:
    # Processes that tests start: threads of several on the same cores wait for each other.
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread() -> Iterator[None]:
    """On small matrices threads only wait for each other; networks set their own number."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(scope="session", autouse=True)
def _nothing_fetched(tmp_path_factory) -> Iterator[None]:
    """What the user of this machine has fetched is no matter of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELMLDA_DATA", str(tmp_path_factory.mktemp("fetched")))
        yield


@pytest.fixture(scope="session")
def mnist() -> Dataset:
    return load_dataset("mnist")


@pytest.fixture(scope="session")
def make_dataset() -> Callable[..., Dataset]:
    """Builder of small datasets: overlapping clouds, of floats in 0..1 or of bytes."""

    def make(
        n_train: int = 400,
        n_test: int = 200,
        n_inputs: int = 6,
        n_classes: int = 3,
        dtype: type[np.generic] = np.float64,
        seed: int = 0,
    ) -> Dataset:
        rng = np.random.default_rng(seed)
        centres = rng.uniform(0.3, 0.7, (n_classes, n_inputs))

        def draw(n_samples: int) -> Split:
            labels = rng.permutation(np.arange(n_samples) % n_classes)
            inputs = np.clip(rng.normal(centres[labels], 0.15), 0, 1)
            return Split((inputs * 255 if dtype == np.uint8 else inputs).astype(dtype), labels)

        return Dataset(
            name="clouds",
            train=draw(n_train),
            test=draw(n_test),
            classes=tuple(map(str, range(n_classes))),
            image_shape=None,
            input_scale=1 / 255 if dtype == np.uint8 else 1.0,
            checksums={},
        )

    return make


@pytest.fixture(scope="session")
def clouds(make_dataset, tmp_path_factory):
    """The folder of four IDX files: 600 and 200 images of 3 × 3 in 4 classes."""
    folder = tmp_path_factory.mktemp("data") / "clouds"
    folder.mkdir()
    dataset = make_dataset(600, 200, 9, 4, np.uint8)
    for part, split in (("train", dataset.train), ("t10k", dataset.test)):
        for kind, values in (("images", split.inputs.reshape(-1, 3, 3)), ("labels", split.labels)):
            (folder / f"{part}-{kind}-idx{values.ndim}-ubyte").write_bytes(idx_bytes(values))
    return folder
