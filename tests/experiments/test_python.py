"""Experiments from Python: the same words, records and refusals as on the command line."""

import subprocess
import sys

import pandas as pd
import pytest
from click.testing import CliRunner

import elmlda
from elmlda import Compare, Ensemble, Shaped, Sweep, Timing, Tune
from elmlda.cli import cli
from elmlda.errors import ElmldaError

BOTH = "--combine", "mean", "--combine", "vote"


def run_command(*words):
    done = CliRunner().invoke(cli, [str(word) for word in words])
    assert done.exit_code == 0, done.output


def read(path):
    return pd.read_csv(path).drop(columns="crc32")


def drop_times(table):
    return table.drop(columns="seconds")


@pytest.mark.parametrize(
    ("experiment", "words", "file"),
    [
        (
            {"kind": Sweep, "fanouts": range(1, 4), "repeats": 2, "seed": 3},
            ["sweep", "--fanout", "1-3", "--repeats", 2, "--seed", 3],
            "sweep.csv",
        ),
        (
            {"kind": Sweep, "hidden": (5, 20), "repeats": 2, "design": "independent"},
            ["sweep", "--hidden", "5,20", "--repeats", 2, "--design", "independent"],
            "sweep.csv",
        ),
        (
            {"kind": Ensemble, "fanout": 2, "n": 3, "repeats": 2, "combine": ("mean", "vote")},
            [
                "ensemble",
                "--fanout",
                "2",
                "--n",
                "3",
                "--repeats",
                "2",
                "--combine",
                "mean",
                "--combine",
                "vote",
            ],
            "ensemble.csv",
        ),
        (
            {"kind": Tune, "fanout": 1, "ridge": (0.1, 1), "weight_range": 0.5, "repeats": 1},
            ["tune", "--fanout", 1, "--ridge", "0.1,1", "--weight-range", 0.5, "--repeats", 1],
            "tune.csv",
        ),
    ],
    ids=["sweep", "independent", "ensemble", "tune"],
)
def test_the_records_of_the_command(experiment, words, file, clouds, tmp_path):
    kind = experiment.pop("kind")
    table = kind(data_dir=clouds, **experiment).run(tmp_path / "python", threads=1)
    run_command(*words, "--data-dir", clouds, "--threads", 1, "--out", tmp_path / "cli", "--quiet")
    ours, theirs = read(tmp_path / "python" / file), read(tmp_path / "cli" / file)
    if "seconds" in table:
        ours, theirs, table = (drop_times(each) for each in (ours, theirs, table))
    pd.testing.assert_frame_equal(ours, theirs)
    pd.testing.assert_frame_equal(table, theirs, check_dtype=False)


def test_timing_has_a_row_for_each_contestant(clouds, tmp_path):
    table = Timing(data_dir=clouds, fanouts=1, repeats=1).run(tmp_path / "run", threads=1)
    assert sorted(table["method"]) == ["both", "lda", "pi"]
    assert (table["seconds"] > 0).all()


def test_a_run_goes_on_and_other_settings_are_refused(clouds, tmp_path):
    folder = tmp_path / "run"
    few = Sweep(data_dir=clouds, fanouts=1, repeats=1).run(folder)
    assert len(few) == 1
    more = Sweep(data_dir=clouds, fanouts="1-2", repeats=2)
    assert more.outlook(folder).n_networks == 2
    table = more.run(folder)
    pd.testing.assert_frame_equal(table.head(1), few)
    assert more.outlook(folder).n_networks == 0
    with pytest.raises(ElmldaError, match=r"was made with seed 0; this .* has seed 1"):
        Sweep(data_dir=clouds, fanouts=1, repeats=1, seed=1).run(folder)


def test_an_outlook_leaves_no_trace(clouds, tmp_path):
    outlook = Sweep(data_dir=clouds, fanouts=range(1, 4), repeats=5).outlook(tmp_path / "run")
    assert (outlook.n_recorded, outlook.n_networks) == (0, 5)
    assert outlook.peak_bytes > 10**7
    assert outlook.seconds > 0
    assert "to be trained  5 networks" in str(outlook)
    assert list(tmp_path.iterdir()) == []


def test_comparing_names_the_data_set_in_each_row(tmp_path):
    compare = Compare(datasets=("iris", "wine"), fanouts=1, folds=3, repeats=1)
    table = compare.run(tmp_path)
    assert table.groupby("dataset").size().to_dict() == {"iris": 6, "wine": 6}
    assert [each.n_networks for each in compare.outlook(tmp_path)] == [0, 0]


SMALL = {"fanouts": "1-2", "repeats": 1, "tune_fanout": 1, "tune_repeats": 1, "ridge": 1.0, "n": 2}


def test_a_study_tells_what_it_can_know_before_it_has_chosen(clouds, tmp_path):
    shaped = Shaped(
        data_dir=clouds, min_field=2, weight_norm=1.0, weight_range=0.5, ensembles=1, **SMALL
    )
    # The four kinds are tuned; what follows depends on that, but is not more than this.
    assert [each.n_networks for each in shaped.outlook(tmp_path)] == [1] * 4 + [10]
    table = shaped.run(tmp_path, threads=1)
    assert len(table["part"].unique()) == 4 + 1
    assert [each.n_networks for each in shaped.outlook(tmp_path)] == [0] * 5


def test_refusals_name_arguments(clouds, tmp_path):
    with pytest.raises(ElmldaError, match=r"Add ridge=1e-3"):
        Sweep(data_dir=clouds, hidden=600, repeats=1).run(tmp_path / "run")
    with pytest.raises(ElmldaError, match=r"^cluster and jobs=2 exclude each other"):
        Sweep(data_dir=clouds).run(tmp_path / "run", jobs=2, cluster="tcp://127.0.0.1:8786")
    with pytest.raises(ElmldaError, match=r"activation is 'step': expected one of"):
        Sweep(activation="step")
    assert not (tmp_path / "run").exists()


def test_progress_is_a_bar_on_stderr_and_silence_is_the_default(clouds, tmp_path, capsys):
    sweep = Sweep(data_dir=clouds, fanouts=1, repeats=2)
    sweep.run(tmp_path / "silent")
    assert capsys.readouterr() == ("", "")
    sweep.run(tmp_path / "loud", progress=True)
    assert "2 of 2 networks" in capsys.readouterr().err


def test_a_report_from_python(clouds, tmp_path):
    Sweep(data_dir=clouds, fanouts=1, repeats=2).run(tmp_path / "run")
    written = elmlda.report(tmp_path / "run", formats=["csv", "md"])
    assert [path.name for path in written.paths] == ["table1.csv", "report.md"]
    assert str(written).startswith(f"{tmp_path / 'run'}: ")
    with pytest.raises(ElmldaError, match="format is 'pdf': expected some of csv, figures, md, html"):
        elmlda.report(tmp_path / "run", formats=["pdf"])


def test_what_the_package_offers_is_there_and_light_to_import():
    assert all(getattr(elmlda, name) for name in elmlda.__all__)
    with pytest.raises(AttributeError, match="no attribute 'sweep'"):
        _ = elmlda.sweep
    heavy = "numpy", "scipy", "pandas", "matplotlib", "sklearn", "click"
    code = f"import sys, elmlda; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
