"""Names of data sets: refused before anything is read, without importing what reads data."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refusal_of

from elmlda.datasets import check_source, is_table
from elmlda.datasets.catalogue import CATALOGUE, fetch_dataset, load_dataset


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("minst", "'mnist'"),
        ("MNIST", "'mnist'"),
        ("fashion", "'fashion-mnist'"),
        (Path("irsi"), "'iris'"),
        ("zebra", ""),
        ("", ""),
    ],
)
@pytest.mark.parametrize("call", [check_source, load_dataset, fetch_dataset])
def test_an_unknown_name_is_refused_with_the_nearest(call, name, hint):
    message = refusal_of(call, name)
    assert repr(str(name)) in message
    assert all(known in message for known in ([hint] if hint else CATALOGUE))


def test_known_names_paths_and_data_are_accepted_unread():
    frame, paths = pd.DataFrame({"a": [1]}), ["mine.csv", "nowhere/mine", "./mine", Path("mine.npz")]
    for source in (*CATALOGUE, *paths, frame, np.zeros((2, 2)), ([[1.0], [2.0]], ["a", "b"])):
        check_source(source)


def test_a_folder_in_the_current_one_needs_no_separator(tmp_path):
    assert "unknown data set" in refusal_of(check_source, "mydata")
    (tmp_path / "mydata").mkdir()
    check_source("mydata")
    assert "no train-images" in refusal_of(load_dataset, "mydata")


def test_a_name_of_the_catalogue_is_never_a_folder(tmp_path):
    (tmp_path / "iris").mkdir()
    assert load_dataset("iris").classes == ("setosa", "versicolor", "virginica")


def test_checking_a_name_imports_no_library():
    program = (
        "import sys; from elmlda.datasets import check_source; check_source('iris')\n"
        "assert not {'numpy', 'pandas', 'pooch', 'scipy'} & sys.modules.keys(), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", ["x.csv", "x.CSV", "a/x.tsv", "x.txt.gz"])
def test_tables_by_name(name):
    assert is_table(Path(name))
    assert not is_table(Path(f"{name}.npz"))
