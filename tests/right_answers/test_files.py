"""What is written, for whom and with which names in it; what can be imported."""

import numpy as np
import pytest

import elmlda as package


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o002, 0o664)])
def test_files_are_as_the_umask_says(succeed, tmp_path, umask, mode):
    succeed("sweep", "--dataset", "iris", "--hidden", 4, "--repeats", 2, "--out", "run", umask=umask)
    succeed("report", "run", umask=umask)
    succeed("train", "--dataset", "iris", "--hidden", 9, "--out", "run/model.npz", umask=umask)
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"manifest.json", "sweep.csv", "report.md", "model.npz"}
    assert {oct(path.stat().st_mode & 0o777) for path in files} == {oct(mode)}


@pytest.fixture
def own(tmp_path):
    """Two data files of the user's, by their absolute paths."""
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        np.savez(tmp_path / f"{name}.npz", x=rng.normal(size=(40, 3)), y=np.arange(40) % 2)
    return [str(tmp_path / "one.npz"), str(tmp_path / "two.npz")]


def require_names_only(folder):
    manifests = {path.parent.name: path.read_text() for path in folder.rglob("manifest.json")}
    assert "--dataset one.npz" in manifests["one"]
    for manifest in manifests.values():
        assert str(folder.parent) not in manifest


@pytest.mark.parametrize("datasets", ["{0}", "{0},{1}", "iris,{0}", "{0} --dataset {1}"])
def test_no_absolute_path_in_the_manifest_of_a_comparison(succeed, own, tmp_path, datasets):
    options = "--hidden 4 --repeats 1 --folds 2 --out run"
    succeed("compare", "--dataset", *datasets.format(*own).split(), *options.split())
    require_names_only(tmp_path / "run")


def test_no_absolute_path_in_the_manifest_of_a_call(own, tmp_path):
    package.Compare(dataset=own, hidden=4, repeats=1, folds=2).run(tmp_path / "run")
    require_names_only(tmp_path / "run")


NO_SKLEARN = "import sys; sys.modules['sklearn'] = None"


def test_without_scikit_learn_the_rest_can_be_imported(run_python):
    done = run_python(f"{NO_SKLEARN}\nimport elmlda; dir(elmlda)\nfrom elmlda import Sweep, report")
    assert done.returncode == 0, done.stderr


def test_without_scikit_learn_an_estimator_says_what_to_install(run_python):
    done = run_python(f"{NO_SKLEARN}\nfrom elmlda import ELMClassifier")
    assert done.returncode == 1
    assert "elmlda[sklearn]" in done.stderr
