"""A network option is declared in one place: the command line, manifests and refusals follow."""

import json

import click
import pytest
from click.testing import CliRunner
from made_runs import MNIST
from run_folders import assert_same_counts, files_in

from elmlda import Sweep
from elmlda.cli.commands import make_command
from elmlda.errors import ElmldaError
from elmlda.options import number, option
from elmlda.reports.load import matches_paper
from elmlda.verify import verify_run

IRIS = {"dataset": "iris", "hidden": [4, 8], "repeats": 2}


class NoisySweep(Sweep):
    """A sweep of a later version, which has one option more."""

    noise: float = option(
        0.0,
        number(),
        "Standard deviation of the noise.",
        "network",
        changes_draw=True,
        is_rare=True,
    )


@pytest.fixture
def run_command(tmp_path, monkeypatch):
    """Return a function that calls the subclass's command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    group = click.Group(commands={"sweep": make_command(NoisySweep)})

    def run(*words):
        result = CliRunner().invoke(group, ["sweep", *words])
        assert result.exit_code == 0, result.output
        return result.output

    return run


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """A run's folder."""
    folder = tmp_path_factory.mktemp("noisy")
    NoisySweep(**IRIS, noise=0.5).run(folder)
    return folder


def test_the_help_explains_the_option(run_command):
    assert "Standard deviation of the noise.  [default: 0]" in run_command("--help-all")
    text = run_command("--help")
    assert "--noise" in text.partition("Rarely needed")[2]
    assert "deviation" not in text


def test_a_config_file_may_have_the_option(run_command, tmp_path):
    (tmp_path / "mine.toml").write_text('dataset = "iris"\nhidden = 4\nrepeats = 1\nnoise = 0.25\n')
    run_command("--config", "mine.toml", "--out", "file", "--quiet")
    run_command("--config", "mine.toml", "--out", "flag", "--quiet", "--noise", "2")
    for name, noise in (("file", 0.25), ("flag", 2.0)):
        manifest = json.loads((tmp_path / name / "manifest.json").read_bytes())
        assert manifest["run"]["noise"] == noise
        assert f"--noise {noise}" in manifest["commands"][0]["command"]


def test_a_folder_is_refused_with_another_value(noisy):
    before = files_in(noisy)
    for other in (Sweep(**IRIS), NoisySweep(**IRIS), NoisySweep(**IRIS, noise=1)):
        for act in (other.run, other.dry_run):
            with pytest.raises(ElmldaError, match=r"noise 0\.5; .* noise (0\.0|1\.0|not set)"):
                act(noisy)
    assert files_in(noisy) == before


def test_an_old_run_is_continued_with_the_default_and_refused_with_another_value(tmp_path):
    first = Sweep(**IRIS).run(tmp_path)
    before = (tmp_path / "sweep.csv").read_bytes()
    assert_same_counts(NoisySweep(**IRIS).run(tmp_path), first)
    assert (tmp_path / "sweep.csv").read_bytes() == before
    with pytest.raises(ElmldaError, match=r"noise 0\.0; .* noise 0\.5"):
        NoisySweep(**IRIS, noise=0.5).run(tmp_path)


def test_verification_refuses_the_option(noisy):
    with pytest.raises(ElmldaError, match=r"noise 0\.5"):
        verify_run(noisy)


def test_the_papers_numbers_do_not_stand_beside_the_option():
    assert matches_paper(MNIST, {})
    assert not matches_paper({**MNIST, "noise": 0.5}, {})
