"""Records that were copied from another run: refused by the run, the dry run and the report."""

import shutil
from dataclasses import replace

import pytest
from command_line import invoke_here, read_raw_manifest
from refusals import refusal_of

import elmlda
from elmlda import Calibration, Ensemble, Sweep, Timing
from elmlda.experiments.compare import CompareOne
from elmlda.experiments.shaped_networks import Setting, ShapedNetworks
from elmlda.experiments.tune import Tune
from elmlda.runs.posteriors import UntrustedPosteriorsWarning

CHOSEN = Setting("uniform", "pi", 0.5, 0.1), Setting("uniform", "lda", 0.5, 0.2)
SHAPED = ShapedNetworks(
    chosen=CHOSEN, combined=CHOSEN, fanouts=1, repeats=2, n=2, ensembles=1, min_field=2
)
EXPERIMENTS = {
    "sweep.csv": Sweep(fanouts="1-2", repeats=2),
    "ensemble.csv": Ensemble(n=2, fanout=1, repeats=2),
    "mistakes.csv": Ensemble(n=2, fanout=1, repeats=2),
    "pairs.csv": Ensemble(n=2, fanout=1, repeats=2),
    "calibration.csv": Calibration(fanouts="1-2", n="1,2", repeats=2),
    "timing.csv": Timing(fanouts="1", repeats=1),
    "compare.csv": CompareOne(fanouts="1", folds=2, repeats=2),
    "tune.csv": Tune(fanout=1, ridge=0.1, weight_range=0.5, repeats=2),
    "networks.csv": SHAPED,
    "ensembles.csv": SHAPED,
}
SMALLER = {
    "ensemble.csv": {"n": 1},
    "mistakes.csv": {"n": 1},
    "tune.csv": {"validation": 70},
    "ensembles.csv": {"n": 1},
}
"""An experiment's own settings that its records depend on."""


@pytest.fixture(scope="module")
def other_data(clouds, tmp_path_factory):
    """The same set but for one pixel of the test part."""
    folder = tmp_path_factory.mktemp("other") / clouds.name
    shutil.copytree(clouds, folder)
    images = folder / "t10k-images-idx3-ubyte"
    content = bytearray(images.read_bytes())
    content[-1] ^= 128
    images.write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def make(clouds, other_data, tmp_path_factory):
    """Run an experiment in its folder, once for all tests."""
    folder, options = tmp_path_factory.mktemp("runs"), {"data": {"data_dir": other_data}}
    made = {}

    def run(name, kind):
        changes = {"seed": {"seed": 1}, **options}.get(kind) or SMALLER.get(name, {})
        experiment = replace(EXPERIMENTS[name], data_dir=clouds)
        experiment = replace(experiment, **changes if kind != "ours" else {})
        if str(experiment) not in made:
            made[str(experiment)] = folder / str(len(made))
            experiment.run(made[str(experiment)], threads=1)
        return experiment, made[str(experiment)]

    return run


CASES = [(name, kind) for name in EXPERIMENTS for kind in ("seed", "data")]
CASES += [(name, "settings") for name in SMALLER]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_file_of_another_run_is_refused(make, tmp_path, name, kind):
    experiment, ours = make(name, "ours")
    _, others = make(name, kind)
    shutil.copytree(ours, tmp_path / "run")
    own, foreign = ((folder / name).read_bytes() for folder in (ours, others))
    joined = own + foreign.splitlines(keepends=True)[-1]
    for content in (foreign, joined):
        (tmp_path / "run" / name).write_bytes(content)
        for read in (experiment.run, experiment.outlook, elmlda.report):
            threads = {} if read is elmlda.report else {"threads": 1}
            message = refusal_of(read, tmp_path / "run", **threads)
            assert message.startswith(f"{tmp_path / 'run' / name}, line ")
            assert "a record of another run, or damaged" in message
        assert (tmp_path / "run" / name).read_bytes() == content


def test_posteriors_of_another_run_are_not_used(make, tmp_path):
    """The networks are trained again, and the records are those of the run."""
    experiment, ours = make("ensemble.csv", "ours")
    _, others = make("ensemble.csv", "seed")
    shutil.copytree(ours, tmp_path / "run")
    shutil.copytree(others / "posteriors", tmp_path / "run/posteriors", dirs_exist_ok=True)
    for name in ("ensemble.csv", "mistakes.csv", "pairs.csv"):
        (tmp_path / "run" / name).unlink()
    with pytest.warns(UntrustedPosteriorsWarning, match="of another run or network"):
        experiment.run(tmp_path / "run", threads=1)
    for name in ("ensemble.csv", "mistakes.csv", "pairs.csv"):
        assert (tmp_path / "run" / name).read_bytes() == (ours / name).read_bytes()


def test_the_manifest_has_the_commands_that_were_typed(clouds, tmp_path):
    words = "sweep", "--data-dir", clouds, "--fanout", "1,2,3,5", "--out", tmp_path, "--quiet"
    for repeats in (1, 2, 2):
        assert invoke_here(*words, "--repeats", repeats).exit_code == 0
    ensemble = "ensemble", "--data-dir", clouds, "--n", 1, "--fanout", 1, "--out", tmp_path
    assert invoke_here(*ensemble, "--combine", "mean", "--combine", "vote").exit_code == 0
    config = tmp_path / "x.toml"
    config.write_text("repeats = 3\n[calibration]\nfanout = 1\ntrain = false\n")
    words = "calibration", "--data-dir", clouds, "--config", config, "--out", tmp_path
    assert invoke_here(*words).exit_code == 0
    repeated = *words[:3], "--fanout", 1, "--n", "1,2,5,20", "--config", config, "--out", tmp_path
    assert invoke_here(*repeated, "--seed", 0).exit_code == 0  # the same, spelt otherwise
    out = f"--data-dir {clouds.name} --out {tmp_path.name}"  # no place of this machine
    assert [sorted(c.split(" --")) for c in read_raw_manifest(tmp_path)["commands"]] == [
        sorted(command.split(" --"))
        for command in (
            f"elmlda sweep --fanout 1-3,5 --repeats 1 {out}",
            f"elmlda sweep --fanout 1-3,5 --repeats 2 {out}",
            f"elmlda ensemble --n 1 --fanout 1 --combine mean --combine vote {out}",
            f"elmlda calibration --fanout 1 --repeats 3 --no-train {out}",
        )
    ]


def test_the_manifest_has_the_calls_from_python(clouds, tmp_path):
    Sweep(data_dir=clouds, fanouts=range(1, 3), repeats=1).run(tmp_path, threads=1)
    expected = (
        f"Sweep(data_dir='{clouds.name}', fanouts=range(1, 3), repeats=1)"
        f".run('{tmp_path.name}', threads=1)"
    )
    assert read_raw_manifest(tmp_path)["commands"] == [expected]


def test_the_parts_of_a_study_have_its_command(tmp_path):
    words = "compare", "--dataset", "iris,wine", "--fanout", 1, "--folds", 2, "--repeats", 1
    assert invoke_here(*words, "--out", tmp_path).exit_code == 0
    for name in ("iris", "wine"):
        (command,) = read_raw_manifest(tmp_path / name)["commands"]
        assert command.startswith("elmlda compare ")
        assert "--dataset iris,wine" in command
