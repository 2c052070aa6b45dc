"""The manifest: a run goes on with its own settings, and with no others."""

import json

import pytest
from run_folders import files_in, identify, make_rows, opened

from elmlda import Sweep
from elmlda.errors import ElmldaError
from elmlda.runs.folder import read_manifest, read_rows
from elmlda.runs.kept import keep_network
from elmlda.runs.tables import ENSEMBLE, SWEEP

IRIS = {"dataset": "iris", "hidden": [4, 8], "repeats": 2}


def start(folder, identity=None, **more):
    with opened(folder, identity, **more) as run:
        run.append(SWEEP, make_rows(0))
        return run.machine


def test_the_same_run_goes_on(tmp_path):
    assert start(tmp_path, command="one") == 0
    assert start(tmp_path, command="two", machine={"cpu": "another"}) == 1
    with opened(tmp_path, command="one") as run:
        assert len(read_rows(run.folder, SWEEP)) == 4
    manifest = read_manifest(tmp_path)
    assert manifest["schema"] == 4
    assert manifest["run"] == identify().run
    assert manifest["experiments"] == {"sweep": {}}
    assert [entry["command"] for entry in manifest["commands"]] == ["one", "two"]
    assert [entry["machine"] for entry in manifest["commands"]] == [0, 1]
    assert manifest["machines"][1] == {"cpu": "another"}


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [
        ({"seed": 1}, {"seed": 2}, ["seed 1", "seed 2"]),
        ({}, {"ridge": 0.5}, ["ridge", "0.5"]),
        ({"ridge": 0.5}, {}, ["ridge 0.5"]),
        ({"dataset": "iris"}, {"dataset": "wine"}, ["dataset iris", "dataset wine"]),
        ({}, {"sha256": {"data": "other"}}, ["other data"]),
        ({"preparation": {"rows": "a"}}, {"preparation": {"rows": "b"}}, ["preparation"]),
        ({"activation": "relu"}, {"bias": True}, ["activation relu", "bias true"]),
        ({"own": {"folds": 10}}, {"own": {"folds": 5}}, ["folds 10", "folds 5"]),
    ],
)
def test_another_configuration_is_refused_by_name(tmp_path, was, now, words):
    start(tmp_path, identify(**was))
    before = files_in(tmp_path)
    with pytest.raises(ElmldaError) as caught, opened(tmp_path, identify(**now)):
        pass
    assert [word for word in words if word not in str(caught.value)] == []
    assert files_in(tmp_path) == before


def test_experiments_share_a_folder_and_keep_their_own_settings(tmp_path):
    start(tmp_path, identify(own={"folds": 10}))
    with opened(tmp_path, identify("ensemble", own={"n": 3})) as run:
        run.append(ENSEMBLE, [{"repeat": 0, "size": 1}])
    start(tmp_path, identify(own={"folds": 10}))
    with pytest.raises(ElmldaError, match="n 3"), opened(tmp_path, identify("ensemble", own={"n": 4})):
        pass
    assert read_manifest(tmp_path)["experiments"] == {"sweep": {"folds": 10}, "ensemble": {"n": 3}}


@pytest.mark.parametrize(
    "other",
    [{"seed": 1}, {"ridge": 1.0}, {"activation": "relu"}, {"design": "independent"}, {"validation": 20},
     {"bias": True}, {"priors": [0.2, 0.3, 0.5]}, {"weight_range": 1}, {"input_weights": "constrained"},
     {"precision": "double"}, {"input_scale": 2}, {"ridge": [0, 1]}],
    ids=str,
)  # fmt: skip
def test_every_setting_of_a_sweep_is_its_runs(tmp_path, other):
    Sweep(**IRIS).run(tmp_path)
    before = files_in(tmp_path)
    for act in (Sweep(**IRIS, **other).run, Sweep(**IRIS, **other).dry_run):
        with pytest.raises(ElmldaError) as caught:
            act(tmp_path)
        assert next(iter(other)) in str(caught.value)
    assert files_in(tmp_path) == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (json.dumps({"schema": 3, "elmlda": "0.1.0", "run": {}, "experiments": {}}), "schema 3"),
        (json.dumps({"schema": 3}), "manifest.json"),
        ("", "manifest.json"),
        ("{", "manifest.json"),
        ("[]", "manifest.json"),
        (json.dumps({"schema": 4, "run": [], "experiments": {}}), "manifest.json"),
        (None, "manifest.json"),
    ],
)
def test_a_manifest_that_is_not_this_versions(tmp_path, content, words):
    (tmp_path / "manifest.json").write_text(content or "")
    (tmp_path / "sweep.csv").write_text("repeat\n0\n")
    before = files_in(tmp_path)
    if content is None:  # nobody knows how the rows were made
        before.pop("manifest.json")
        (tmp_path / "manifest.json").unlink()
    with pytest.raises(ElmldaError) as caught, opened(tmp_path):
        pass
    assert words in str(caught.value)
    assert files_in(tmp_path) == before


def test_networks_that_are_kept_are_of_one_run_though_it_has_no_rows(tmp_path):
    """As when an ensemble is killed before its first rows: its networks are used when it goes on."""
    with opened(tmp_path, identify(seed=0)):
        pass  # a run that failed at once may start with other settings
    with opened(tmp_path, identify(seed=1)):
        keep_network(tmp_path, 0, {"sizes": [8]})
    with pytest.raises(ElmldaError, match="seed 1"), opened(tmp_path, identify(seed=2)):
        pass
    start(tmp_path, identify(seed=1))
    assert len(read_manifest(tmp_path)["commands"]) == 1
