"""Work that must not be lost, and processes that must not stay."""

import subprocess
import sys
from pathlib import Path

ELMLDA = str(Path(sys.executable).with_name("elmlda"))


def test_one_of_two_trainings_into_one_file_is_refused(tmp_path):
    train = "train --dataset wine --hidden 90 --n 300 --quiet --out model.npz"
    command = [ELMLDA, *train.split(), "--seed"]
    both = [
        subprocess.Popen([*command, seed], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        for seed in "12"
    ]
    said = [process.communicate(timeout=300)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 1], said
    assert "model.npz" in "".join(said)
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_a_model_is_replaced_if_asked_for(succeed, refusal):
    train = "train", "--dataset", "iris", "--hidden", 9, "--out", "model.npz"
    succeed(*train)
    assert "model.npz" in refusal(*train)
    succeed(*train, "--force")
