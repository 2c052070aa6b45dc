"""Fashion-MNIST itself, where somebody has it: `apt install dataset-fashion-mnist`, for one."""

import os
from pathlib import Path

import numpy as np
import pytest
from command_line import invoke_here

from elmlda.datasets import load_dataset, verify_dataset
from elmlda.datasets.catalogue import CATALOGUE

pytestmark = pytest.mark.datasets
FASHION_MNIST = CATALOGUE["fashion-mnist"]
FOLDER = Path(os.environ.get("ELMLDA_FASHION_MNIST", "/usr/share/datasets/fashion-mnist"))


@pytest.fixture(scope="module", autouse=True)
def _somebody_has_it():
    if not FOLDER.is_dir():
        pytest.skip(f"no {FOLDER}: install dataset-fashion-mnist, or set ELMLDA_FASHION_MNIST")


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ELMLDA_DATA", str(tmp_path / "data"))
    return invoke_here


def test_debians_files_have_the_known_content():
    assert all(check.ok for check in verify_dataset("fashion-mnist", FOLDER))
    dataset = load_dataset(data_dir=FOLDER)
    assert (dataset.name, dataset.classes) == ("fashion-mnist", FASHION_MNIST.known.classes)
    assert dataset.checksums == FASHION_MNIST.content_sha256
    assert np.bincount(dataset.train.labels).tolist() == [6000] * 10
    assert np.bincount(dataset.test.labels).tolist() == [1000] * 10


def test_a_sweep_goes_on_whichever_way_the_data_come(invoke, tmp_path):
    result = invoke("sweep", "--data-dir", FOLDER, "--hidden", 100, "--repeats", 1)
    assert result.exit_code == 0, result.output
    assert invoke("data", "fetch", "fashion-mnist", "--from", FOLDER).exit_code == 0
    result = invoke("sweep", "--dataset", "fashion-mnist", "--hidden", 100, "--repeats", 2)
    assert result.exit_code == 0, result.output
    records = (tmp_path / "results" / "fashion-mnist" / "sweep.csv").read_text().splitlines()
    assert len(records) == 3
    for record in records[1:]:  # chance would be 9,000 errors of 10,000
        assert 2000 < int(record.split(",")[5]) < 4000
