"""Arguments of experiments in Python: what the command line would refuse is refused when they are made.

What it can't spell, numbers and tables of numpy and pandas, is taken like the plain form.
"""

import inspect
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from elmlda import Compare, Ensemble, Sweep, Timing
from elmlda.errors import ElmldaError

SMALL = {
    Sweep: {"dataset": "iris", "hidden": 4, "repeats": 2},
    Ensemble: {"dataset": "iris", "hidden": 4, "repeats": 1, "n": 2},
    Compare: {"hidden": 4, "repeats": 1, "folds": 2},
    Timing: {"dataset": "iris"},
}
DATASETS = "datasets" if "datasets" in inspect.signature(Compare).parameters else "dataset"
"""What a comparison calls its data sets."""
SMALL[Compare][DATASETS] = "iris"


def make(kind, **options):
    return kind(**{**SMALL[kind], **options})


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (Sweep, {"design": "nestde"}),
        (Sweep, {"seed": None}),
        (Sweep, {"seed": -1}),
        (Sweep, {"seed": 1.5}),
        (Sweep, {"repeats": -3}),
        (Sweep, {"repeats": 0}),
        (Sweep, {"repeats": 2.5}),
        (Sweep, {"hidden": 0}),
        (Sweep, {"hidden": -4}),
        (Sweep, {"hidden": []}),
        (Sweep, {"hidden": 4.5}),
        (Sweep, {"hidden": "four"}),
        (Sweep, {"fanout": 2}),  # beside hidden
        (Sweep, {"keep": "no"}),
        (Sweep, {"bias": "no"}),
        (Sweep, {"priors": [0.5, 0.6]}),
        (Sweep, {"ridge": "much"}),
        (Sweep, {"weight_range": "wide"}),
        (Ensemble, {"n": 0}),
        (Ensemble, {"n": -1}),
        (Ensemble, {"repeats": 0}),
        (Ensemble, {"combine": []}),
        (Ensemble, {"combine": "meen"}),
        (Ensemble, {"combine": ["mean", "meen"]}),
        (Ensemble, {"hidden": [4, 8]}),
        (Ensemble, {"hidden": None, "fanout": [1, 2]}),
        (Ensemble, {"fanout": 2}),  # beside hidden
        (Compare, {"folds": -2}),
        (Compare, {"folds": 0}),
        (Compare, {"folds": 1}),
        (Compare, {"repeats": 0}),
        (Compare, {DATASETS: []}),
        (Timing, {"pairs": 0}),
        (Timing, {"pairs": -1}),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_what_cannot_work_is_refused_at_once(kind, options):
    with pytest.raises(ElmldaError) as caught:
        make(kind, **options)
    *_, name = options
    word = {"datasets": "data", "hidden": "hidden"}.get(name, name.split("_")[-1])
    assert word in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"activation": "tanhh"},
        {"precision": "float16"},
        {"input_weights": "normal"},
        {"ridge": -1},
        {"ridge": float("nan")},
        {"weight_range": 0},
        {"priors": "0.5,0.6"},
    ],
    ids=str,
)
def test_settings_of_networks_are_refused_at_once(options):
    with pytest.raises(ElmldaError):
        make(Sweep, **options)


@pytest.mark.parametrize(
    "options", [{"jobs": 0}, {"threads": 0}, {"threads": -1}, {"cluster": ""}], ids=str
)
def test_a_share_of_the_machine_that_is_none_is_refused(tmp_path, options):
    with pytest.raises(ElmldaError) as caught:
        make(Sweep).run(tmp_path / "run", **options)
    (name,) = options
    assert name in str(caught.value)


def test_timings_are_not_made_here_instead_of_on_a_cluster(tmp_path):
    with pytest.raises((ElmldaError, TypeError)):
        make(Timing, pairs=1).run(tmp_path / "run", cluster="tcp://nowhere.invalid:1")


def test_a_word_is_not_several_columns(blobs, tmp_path):
    table = blobs().rename(columns={"width": "a", "height": "b"}).assign(c=range(60))
    table.to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(ElmldaError):
        Sweep(dataset=tmp_path / "mine.csv", label="kind", hidden=2, repeats=1, drop="ab").run(
            tmp_path / "run"
        )


# What is not refused


def counts(rows):
    """What does not depend on the machine."""
    known = [
        "dataset",
        "repeat",
        "fold",
        "n_hidden",
        "size",
        "combine",
        "pi_errors",
        "lda_errors",
        "errors",
    ]
    return rows[[name for name in known if name in rows]].dropna(axis=1, how="all").to_dict("list")


@pytest.mark.parametrize(
    ("kind", "options", "plain"),
    [
        pytest.param(kind, options, plain, id=f"{kind.__name__}-{i}-{name}")
        for i, (_, kind, options, plain) in enumerate(
            [
                (True, Sweep, {"seed": np.int64(3)}, {"seed": 3}),
                (True, Sweep, {"repeats": np.int64(3)}, {"repeats": 3}),
                (True, Sweep, {"repeats": np.uint8(3)}, {"repeats": 3}),
                (False, Sweep, {"hidden": np.int64(8)}, {"hidden": 8}),
                (False, Sweep, {"hidden": [np.int64(8), 4]}, {"hidden": "4,8"}),
                (False, Sweep, {"hidden": range(4, 9, 4)}, {"hidden": "4,8"}),
                (True, Sweep, {"hidden": np.arange(4, 9, 4)}, {"hidden": "4,8"}),
                (True, Sweep, {"hidden": pd.Series([4, 8])}, {"hidden": "4,8"}),
                (False, Sweep, {"ridge": np.float64(0.5)}, {"ridge": 0.5}),
                (True, Sweep, {"ridge": np.float32(0.5)}, {"ridge": 0.5}),
                (True, Sweep, {"weight_range": np.float32(0.25)}, {"weight_range": 0.25}),
                (True, Sweep, {"input_scale": np.float32(0.25)}, {"input_scale": 0.25}),
                (True, Sweep, {"bias": np.True_}, {"bias": True}),
                (True, Sweep, {"priors": [0.2, 0.3, 0.5]}, {"priors": "0.2,0.3,0.5"}),
                (True, Sweep, {"priors": np.array([0.2, 0.3, 0.5])}, {"priors": "0.2,0.3,0.5"}),
                (True, Ensemble, {"n": np.int64(3)}, {"n": 3}),
                (True, Ensemble, {"repeats": np.int64(2)}, {"repeats": 2}),
                (True, Ensemble, {"seed": np.int64(2)}, {"seed": 2}),
                (
                    True,
                    Ensemble,
                    {"combine": np.array(["mean", "vote"])},
                    {"combine": ["mean", "vote"]},
                ),
                (
                    True,
                    Ensemble,
                    {"combine": pd.Series(["mean", "vote"])},
                    {"combine": ["mean", "vote"]},
                ),
                (True, Compare, {"folds": np.int64(3)}, {"folds": 3}),
                (True, Compare, {"seed": np.int64(3)}, {"seed": 3}),
                (True, Compare, {"hidden": np.arange(4, 9, 4)}, {"hidden": "4,8"}),
                (True, Compare, {DATASETS: pd.Series(["iris", "wine"])}, {DATASETS: ["iris", "wine"]}),
            ]
        )
        for name in [next(iter(options))]
    ],
)
def test_what_can_work_gives_what_the_plain_form_gives(tmp_path, kind, options, plain):
    given = make(kind, **options).run(tmp_path / "given")
    expected = make(kind, **plain).run(tmp_path / "plain")
    assert counts(given) == counts(expected)


@pytest.mark.parametrize(
    "options",
    [
        {"jobs": np.int64(1)},
        {"threads": np.int64(1)},
    ],
    ids=str,
)
def test_a_share_of_the_machine_may_be_a_number_of_numpys(tmp_path, options):
    assert len(make(Sweep).run(tmp_path / "run", **options)) == 2


def test_a_path_is_a_data_set(blobs, tmp_path):
    path = tmp_path / "mine.csv"
    blobs().to_csv(path, index=False)
    tables = [
        make(Sweep, dataset=dataset, label="kind").run(tmp_path / f"run{i}")
        for i, dataset in enumerate([path, str(path)])
    ]
    assert counts(tables[0]) == counts(tables[1])


@pytest.mark.parametrize("wrap", [Path, lambda path: [Path(path)]], ids=["alone", "in a list"])
def test_paths_are_data_sets_of_a_comparison(blobs, tmp_path, wrap):
    path = tmp_path / "mine.csv"
    blobs().to_csv(path, index=False)
    rows = make(Compare, **{DATASETS: wrap(path)}, label="kind").run(tmp_path / "run")
    plain = make(Compare, **{DATASETS: str(path)}, label="kind").run(tmp_path / "plain")
    assert len(rows) == len(plain) > 0


@pytest.mark.parametrize("kind", [np.array, pd.Series, pd.Index])
def test_columns_to_drop_may_be_of_pandas(blobs, tmp_path, kind):
    blobs().assign(number=range(60)).to_csv(tmp_path / "mine.csv", index=False)
    own = {"dataset": tmp_path / "mine.csv", "label": "kind"}
    given = make(Sweep, **own, drop=kind(["number"])).run(tmp_path / "given")
    plain = make(Sweep, **own, drop=["number"]).run(tmp_path / "plain")
    assert counts(given) == counts(plain)


# The command line


@pytest.mark.parametrize("command", ["sweep", "ensemble", "timing", "compare", "train"])
def test_there_is_no_second_option_for_data(refusal, command):
    assert "--data-dir" in refusal(command, "--dataset", "iris", "--data-dir", "folder", exit_code=2)


def test_an_empty_cluster_is_refused(elmlda, tmp_path):
    done = elmlda("sweep", "--dataset", "iris", "--hidden", 4, "--repeats", 1, "--cluster", "")
    assert done.returncode in (1, 2)
    assert "--cluster" in done.stderr
    assert not (tmp_path / "results").exists()
