"""What is written of a race and of growth."""

import numpy as np
import pandas as pd
from races import measurement

from elmlda.bench.growth import CostLaw, GrowthPoint
from elmlda.bench.race import Difference, Measurement, Standing
from elmlda.reports.model import Provenance
from elmlda.reports.race import (
    describe_best_pair,
    make_growth_report,
    make_race_report,
    write_measurements,
)
from elmlda.reports.write import write_report

STANDINGS = [
    Standing("nested", "PI and LDA", "1-4", 2.0, "measured", 1.0, "yes", ""),
    Standing("limit", "PI and LDA", "1-4", 1.5, "measured", 0.75, "", "at matrix-multiply speed"),
    Standing("sklearn-lda", "LDA", "1-4", 123.4, "fitted", 61.7, "within 1", "timed at 1,2,4"),
    Standing("hpelm", "PI", "1-4", float("nan"), "absent", float("nan"), "", "not installed"),
]
MADE = Provenance(machines=["cpu Abacus"], commands=["elmlda bench --growth 1-3,5"])


def write(folder, differences=()):
    machine = {"cpu": "Abacus", "blas": ["one", "two"]}
    race = "clouds", STANDINGS, differences
    return write_report(make_race_report(*race, machine, "elmlda bench --seed 7"), folder)


def test_a_race_is_written(tmp_path):
    paths = write(tmp_path)
    assert [path.name for path in paths] == [
        "bench.csv", "bench.png", "bench.svg", "bench.md", "bench.html",
    ]  # fmt: skip
    table = pd.read_csv(tmp_path / "bench.csv", keep_default_na=False)
    assert list(table["contestant"]) == ["nested", "limit", "sklearn-lda", "hpelm"]
    assert list(table["seconds"]) == ["2", "1.5", "123.4", ""]
    page = (tmp_path / "bench.md").read_text().replace("\\", "")
    assert page.startswith("# clouds: How long do others take?\n")
    assert "| sklearn-lda | LDA | 1-4 | 123.40 | fitted | 61.70 | within 1 |" in page
    assert "| hpelm | PI | 1-4 |  | absent |  |  |" in page
    assert "not installed.\n" in page
    assert 'LinearDiscriminantAnalysis(solver="lsqr") of scikit-learn 1.' in page
    assert "\nelmlda bench --seed 7\n" in page
    assert "- computed on: cpu Abacus; blas one, two\n" in page
    assert "VOID" not in page
    assert "differ" not in page
    svg = (tmp_path / "bench.svg").read_text()
    assert "123 s, 61.70 ×" in svg
    assert "hpelm" not in svg


def test_a_void_race_is_called_so_everywhere(tmp_path):
    write(tmp_path, [Difference("sklearn-lda", "lda", 3, 12, 8)])
    assert (tmp_path / "bench.md").read_text().startswith("# VOID, error counts differ: clouds: How")
    assert "- sklearn-lda, LDA at fan-out 3: 12 errors, nested" in (tmp_path / "bench.md").read_text()
    assert "VOID" in (tmp_path / "bench.svg").read_text()


def test_one_error_is_reported_and_not_void(tmp_path):
    write(tmp_path, [Difference("sklearn-lda", "lda", 3, 9, 8)])
    page = (tmp_path / "bench.md").read_text()
    assert "- sklearn-lda, LDA at fan-out 3: 9 errors, nested has 8\n" in page
    assert "VOID" not in page


def test_the_same_race_gives_the_same_bytes(tmp_path):
    contents = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        contents.append([path.read_bytes() for path in write(tmp_path / name)])
    assert contents[0] == contents[1]


def test_measurements_are_written(tmp_path):
    nested = Measurement("nested", (1, 2, 3), 1.25, (9, 8, 7), (6, 5, 4))
    path = write_measurements(tmp_path, [nested, measurement("pinv", 2, 0.5, pi=8)])
    assert path.read_text().splitlines() == [
        "contestant,fanouts,seconds,pi_errors,lda_errors",
        "nested,1-3,1.25,9 8 7,6 5 4",
        "pinv,2,0.5,8,",
    ]


def test_growth_is_written_with_its_law(tmp_path):
    law = CostLaw(600, 1e-7, 1e-6, 1e-6)
    points = [GrowthPoint(f, 6 * f, law.seconds(6 * f), 1000 * f) for f in (1, 2, 3, 5)]
    contents = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        grown = make_growth_report(points, 600, [1001, 2002, 3003, 5005], MADE)
        paths = write_report(grown, tmp_path / name)
        contents.append([path.read_bytes() for path in paths])
    assert contents[0] == contents[1]
    assert [path.name for path in paths] == [
        "growth.csv", "growth.png", "growth.svg", "growth.md", "growth.html",
    ]  # fmt: skip
    assert "- computed on: cpu Abacus\n" in paths[3].read_text()
    table = pd.read_csv(paths[0])
    assert list(table) == [
        "fanout", "n_hidden", "seconds", "fitted_seconds", "peak_bytes", "predicted_bytes",
    ]  # fmt: skip
    assert np.allclose(table["seconds"], table["fitted_seconds"])
    assert list(table["peak_bytes"]) == [1000, 2000, 3000, 5000]


def test_two_points_have_no_law(tmp_path):
    points = [GrowthPoint(f, 6 * f, float(f), 1000 * f) for f in (1, 2)]
    (path,) = write_report(make_growth_report(points, 600, [1001, 2002], MADE), tmp_path, ("csv",))
    assert pd.read_csv(path)["fitted_seconds"].isna().all()


def test_the_best_peers_together_are_told():
    rows = [
        *STANDINGS[:3],
        Standing("pinv", "PI", "1-4", 40.0, "measured", 20.0, "yes", ""),
        Standing("sklearn-ridge", "PI", "1-4", 6.0, "measured", 3.0, "yes", ""),
        STANDINGS[3],
    ]
    assert describe_best_pair(rows) == (
        "The fastest peers for both methods, sklearn-ridge and sklearn-lda, take 129.4 s together "
        "(fitted): 64.7 times the nested network's time."
    )
    assert describe_best_pair(STANDINGS) == ""  # hpelm is absent: nobody for PI
