"""LDA has a solution or is refused, the same for every network and by either way of asking."""

import subprocess
import sys
from pathlib import Path

import pandas as pd

COMMAND = Path(sys.executable).with_name("elmlda")


def test_iris_carries_97_hidden_units_and_no_network_has_98(tmp_path):
    """100 training samples in 3 classes: their covariance has rank 97."""

    def sweep(sizes, folder):
        command = f"sweep --dataset iris --hidden {sizes} --repeats 6 --precision double --out {folder}"
        return subprocess.run([COMMAND, *command.split()], capture_output=True, text=True, check=False)

    refused = sweep("4,98", tmp_path / "98")
    assert refused.returncode == 1
    assert " 97 " in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert not (tmp_path / "98" / "sweep.csv").exists()
    accepted = sweep("4,97", tmp_path / "97")
    assert accepted.returncode in (
        0,
        1,
    )  # 97 may be singular to within rounding, in some networks or all
    recorded = pd.read_csv(tmp_path / "97" / "sweep.csv")
    assert set(recorded[recorded["n_hidden"] == 4]["repeat"]) == set(range(6))
