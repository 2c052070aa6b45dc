"""The commit of the code: in a checkout, in a wheel, and in a wheel from a source distribution."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import elmlda
from elmlda.machine import RECORD

ROOT = Path(elmlda.__file__).parents[1]
FILES = [
    "pyproject.toml", "README.md", "LICENSE", "configs/quick.toml", "scripts/hatch_build.py",
    "results/paper/fig1.svg", "elmlda/__init__.py", "elmlda/machine.py",
]  # fmt: skip
ASK = "import json; from elmlda.machine import describe_code; print(json.dumps(describe_code()))"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder, *words):
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    names = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    command = ["git", *names, *words]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | settings, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def copy_package(folder):
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


@pytest.fixture
def checkout(tmp_path):
    """A repository with the smallest part of the package, in one commit."""
    folder = tmp_path / "checkout"
    copy_package(folder)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "all")
    return folder


@pytest.fixture
def commit(checkout):
    return git(checkout, "rev-parse", "HEAD")


def ask(folder, python=sys.executable, **settings):
    """What the package in a folder, or that of another Python, says of its code."""
    environment = os.environ | {"PYTHONPATH": ""} | settings
    done = subprocess.run(
        [python, "-c", ASK], cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def build(folder, target, out):
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (path,) = out.iterdir()
    return path


def install(wheel, folder):
    """Install a wheel in a fresh environment; its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", str(wheel)], check=True)
    return python


# A checkout


def test_a_checkout_has_its_last_commit(checkout, commit, tmp_path):
    assert ask(checkout) == {"commit": commit, "changed": False}
    # Wherever it is called from, and also from a git hook of another repository.
    assert ask(tmp_path, PYTHONPATH=str(checkout), GIT_DIR=str(tmp_path)) == ask(checkout)


@pytest.mark.parametrize(
    ("name", "is_changed"),
    [("elmlda/__init__.py", True), ("README.md", False), ("elmlda/new.py", False), ("new.py", False)],
)
def test_only_tracked_files_of_the_package_count_as_changes(checkout, commit, name, is_changed):
    with (checkout / name).open("a") as file:
        file.write("\n")
    assert ask(checkout) == {"commit": commit, "changed": is_changed}


def test_without_a_commit_nothing_is_known(tmp_path):
    copy_package(tmp_path)
    assert ask(tmp_path) == {}  # as unpacked from an archive of the files
    git(tmp_path, "init", "--quiet")
    assert ask(tmp_path) == {}
    git(tmp_path, "add", ".")
    assert ask(tmp_path) == {}


def test_another_repository_around_the_package_is_not_asked(checkout):
    inner = checkout / "inner"
    copy_package(inner)
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "--message", "a copy")
    assert ask(inner) == {}


def test_without_git_nothing_is_known(checkout, tmp_path):
    assert ask(checkout, PATH=str(tmp_path)) == {}


# What is built


@pytest.mark.parametrize("is_changed", [False, True])
def test_a_wheel_has_the_commit_that_it_was_built_from(checkout, commit, tmp_path, is_changed):
    if is_changed:
        with (checkout / "elmlda/__init__.py").open("a") as file:
            file.write("\n")
    wheel = build(checkout, "wheel", tmp_path / "dist")
    assert not (checkout / "elmlda" / RECORD).exists()
    python = install(wheel, tmp_path / "environment")
    assert ask(tmp_path, python) == {"commit": commit, "changed": is_changed}


def test_a_wheel_from_a_source_distribution_has_its_record(checkout, commit, tmp_path):
    sdist = build(checkout, "sdist", tmp_path / "dist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("elmlda-*")
    assert (unpacked / "results/paper/fig1.svg").exists()  # which README.md shows
    assert ask(unpacked) == {"commit": commit, "changed": False}
    git(unpacked, "init", "--quiet")  # the repository of whoever packages it further
    git(unpacked, "add", ".")
    git(unpacked, "commit", "--quiet", "--message", "imported")
    wheel = build(unpacked, "wheel", tmp_path / "wheels")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.namelist().count(f"elmlda/{RECORD}") == 1
        assert json.loads(archive.read(f"elmlda/{RECORD}")) == {"commit": commit, "changed": False}


def test_a_wheel_of_unknown_code_has_no_record(tmp_path):
    folder = tmp_path / "files"
    copy_package(folder)
    wheel = build(folder, "wheel", tmp_path / "dist")
    assert f"elmlda/{RECORD}" not in zipfile.ZipFile(wheel).namelist()
