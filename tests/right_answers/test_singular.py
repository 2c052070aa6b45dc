"""LDA has a solution or is refused, the same for every network and by either way of asking."""

import pandas as pd


def test_iris_carries_97_hidden_units_and_no_network_has_98(elmlda, refusal, tmp_path):
    """100 training samples in 3 classes: their covariance has rank 97."""
    sweep = ["sweep", "--dataset", "iris", "--repeats", "6", "--precision", "double"]
    assert " 97 " in refusal(*sweep, "--hidden", "4,98", "--out", "98")
    assert not (tmp_path / "98" / "sweep.csv").exists()
    accepted = elmlda(*sweep, "--hidden", "4,97", "--out", "97")
    assert accepted.returncode in (0, 1)  # 97 may be singular to within rounding
    recorded = pd.read_csv(tmp_path / "97" / "sweep.csv")
    assert set(recorded[recorded["n_hidden"] == 4]["repeat"]) == set(range(6))
