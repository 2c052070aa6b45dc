"""pairs.csv: disjoint pairs of the networks that a run has kept, whoever trained them."""

import pandas as pd
import pytest

from elmlda.core.evaluate import count_errors
from elmlda.datasets import load_dataset
from elmlda.experiments.ensemble import PairRecord
from elmlda.networks.jobs import run_job
from elmlda.runs.posteriors import PosteriorStore
from elmlda.settings import DatasetRef, NetworkJob

TWO_BY_TWO = "ensemble", "--n", "2", "--fanout", "2", "--repeats", "2"


@pytest.fixture
def swept(elmlda):
    """A sweep of seven networks of 18 hidden units: three pairs and one network alone."""
    elmlda("sweep", "--fanout", "2", "--repeats", "7")


@pytest.fixture
def pairs(tmp_path):
    """What is recorded of pairs."""
    return lambda: pd.read_csv(tmp_path / "run/pairs.csv").drop(columns="crc32")


def test_every_kept_pair_is_recorded_also_beyond_the_plan(swept, elmlda, clouds, pairs):
    elmlda(*TWO_BY_TWO)
    labels = load_dataset(None, clouds).test.labels
    networks = [
        run_job(NetworkJob(DatasetRef(None, clouds), 0, (index,), (18,))).posteriors
        for index in range(6)
    ]
    expected = [
        [p, 2 * p, 2 * p + 1, count_errors(networks[2 * p] / 2 + networks[2 * p + 1] / 2, labels), 200]
        for p in range(3)
    ]
    assert pairs().to_numpy().tolist() == expected


def test_two_members_are_a_pair(elmlda, pairs, tmp_path):
    elmlda("ensemble", "--n", "4", "--fanout", "2", "--repeats", "2")
    ensemble = pd.read_csv(tmp_path / "run/ensemble.csv")
    assert pairs()["pair"].tolist() == [0, 1, 2, 3]
    two = ensemble.loc[ensemble["size"] == 2, "errors"].tolist()
    assert pairs().loc[[0, 2], "errors"].tolist() == two


def test_networks_of_a_later_sweep_are_paired_when_nothing_is_to_be_trained(elmlda, pairs):
    elmlda(*TWO_BY_TWO)
    assert pairs()["pair"].tolist() == [0, 1]
    elmlda("sweep", "--fanout", "2", "--repeats", "6")
    elmlda(*TWO_BY_TWO)
    assert pairs()["pair"].tolist() == [0, 1, 2]


def test_a_pair_whose_posteriors_are_gone_is_not_there(swept, elmlda, pairs, tmp_path):
    elmlda(*TWO_BY_TWO)
    (tmp_path / "run/pairs.csv").unlink()
    (tmp_path / "run/posteriors/0-18.npz").unlink()
    done = elmlda(*TWO_BY_TWO)
    assert pairs()["pair"].tolist() == [1, 2]
    assert "not used" not in done.stderr


def test_a_broken_file_is_no_partner(swept, elmlda, pairs, tmp_path):
    (tmp_path / "run/posteriors/5-18.npz").write_bytes(b"broken")
    done = elmlda(*TWO_BY_TWO)
    assert pairs()["pair"].tolist() == [0, 1]
    assert done.stderr.count("5-18.npz: not used, the network is trained again where it is needed") == 1


def test_recorded_pairs_stay_when_their_posteriors_go(swept, elmlda, pairs, tmp_path):
    elmlda(*TWO_BY_TWO)
    before = pairs()
    for path in (tmp_path / "run/posteriors").iterdir():
        path.unlink()
    elmlda(*TWO_BY_TWO)
    pd.testing.assert_frame_equal(pairs(), before)


def test_a_lost_line_comes_back_in_its_place(swept, elmlda, tmp_path):
    elmlda(*TWO_BY_TWO)
    path = tmp_path / "run/pairs.csv"
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    path.write_text("".join(lines[:2] + lines[3:]))
    elmlda(*TWO_BY_TWO)
    assert path.read_text() == whole


def test_independent_networks_make_pairs_too(elmlda, pairs):
    elmlda("sweep", "--fanout", "1-2", "--repeats", "4", "--design", "independent")
    elmlda(*TWO_BY_TWO, "--design", "independent")
    assert pairs()["pair"].tolist() == [0, 1]


def test_which_networks_are_kept(tmp_path):
    names = [
        "0-18.npz",
        "12-2-18.npz",
        "14-0-18-18.npz",
        "7-118.npz",
        "x-18.npz",
        ".3-18.npz",
        "4-18.npz.tmp",
        "5-18.npz",
    ]
    (tmp_path / "posteriors").mkdir()
    for name in names:
        (tmp_path / "posteriors" / name).touch()
    assert PosteriorStore(tmp_path, {}, (1, 2)).list_networks(18) == [0, 5, 12, 14]
    assert PosteriorStore(tmp_path / "nowhere", {}, (1, 2)).list_networks(18) == []


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ((1, 2, 4, 5, 10), "pair 1 is not of networks 2 and 4"),
        ((1, 3, 2, 5, 10), "pair 1 is not of networks 3 and 2"),
        ((1, 2, 3, 11, 10), "errors is 11, expected 0 to 10"),
        ((0, 0, 1, 0, 0), "n_test is 0, expected more than 0"),
    ],
)
def test_what_cannot_be_is_refused(values, reason):
    assert PairRecord(1, 2, 3, 5, 10).key == (1,)
    with pytest.raises(ValueError, match=reason):
        PairRecord(*values)
