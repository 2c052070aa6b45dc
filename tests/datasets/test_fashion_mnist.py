"""Fashion-MNIST itself, where somebody has it: `apt install dataset-fashion-mnist`, for one."""

import os
from pathlib import Path

import pytest

from elmlda.datasets import fetch_dataset, load_dataset, verify_dataset

pytestmark = pytest.mark.datasets
FOLDER = Path(os.environ.get("ELMLDA_FASHION_MNIST", "/usr/share/datasets/fashion-mnist"))


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no {FOLDER}: set ELMLDA_FASHION_MNIST")
def test_debians_files_have_the_known_content(tmp_path, monkeypatch):
    monkeypatch.setenv("ELMLDA_DATA", str(tmp_path))
    fetch_dataset("fashion-mnist", FOLDER)
    assert all(check.ok for check in verify_dataset("fashion-mnist"))
    fetched, data = load_dataset("fashion-mnist"), load_dataset(FOLDER)
    assert (data.name, data.checksums) == (fetched.name, fetched.checksums)
    assert data.train.count_classes(10).tolist() == [6000] * 10
    assert data.test.count_classes(10).tolist() == [1000] * 10
