"""Config files: a TOML file's values are defaults, and what it has wrong is named with the file."""

import json

import pytest


@pytest.fixture
def config(tmp_path):
    """mine.toml with some text."""

    def write(text, encoding="utf-8"):
        (tmp_path / "mine.toml").write_text(text, encoding=encoding)

    return write


def test_values_are_defaults_and_flags_override_them(config, succeed):
    config('dataset = "iris"\nseed = 5\n[sweep]\nhidden = [4, 6]\nrepeats = 2\n', "utf-8-sig")
    shown = succeed("sweep --config mine.toml --dry-run")
    assert "0 of 4 rows" in shown
    assert "2 networks" in shown
    shown = succeed("sweep --config mine.toml --dry-run --repeats 3 --hidden 4,6,8")
    assert "0 of 9 rows" in shown


def test_a_flag_of_the_other_size_wins(config, succeed):
    config('dataset = "iris"\n[sweep]\nfanout = "1-3"\nrepeats = 1\n')
    assert "0 of 3 rows" in succeed("sweep --config mine.toml --dry-run")
    assert "0 of 1 rows" in succeed("sweep --config mine.toml --dry-run --hidden 5")


def test_the_manifest_has_what_the_file_said(config, succeed, tmp_path):
    config(
        'dataset = "iris"\nseed = 5\nout = "run"\nbias = true\n'
        "ridge = [0, 0.5]\n[sweep]\nhidden = [4]\nrepeats = 1\n[ensemble]\nn = 7\n"
    )
    succeed("sweep --config mine.toml")
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert (manifest["run"]["seed"], manifest["run"]["bias"]) == (5, True)
    (command,) = manifest["commands"]
    for words in ("--seed 5", "--hidden 4", "--bias", "--repeats 1"):
        assert words in command["command"]
    assert "--n 7" not in command["command"]
    succeed(command["command"].removeprefix("elmlda "))  # it is the same run


def test_several_texts_of_a_list(config, succeed, blobs, tmp_path):
    blobs.assign(one=1, two=2).to_csv(tmp_path / "blobs.csv", index=False)
    config('dataset = "blobs.csv"\nlabel = "kind"\ndrop = ["one", "two"]\n')
    succeed("sweep --config mine.toml --hidden 4 --repeats 1 --quiet")
    (row,) = json.loads((tmp_path / "results/blobs/manifest.json").read_text())["commands"]
    assert "--drop one --drop two" in row["command"]


@pytest.mark.parametrize("name", ["paper", "quick"])
@pytest.mark.parametrize("command", ["sweep", "ensemble", "timing"])
def test_our_own_are_known_by_name(succeed, name, command):
    shown = succeed(f"{command} --config {name} --dry-run")
    assert f"results/{'quick' if name == 'quick' else 'reproduced'}\n" in shown


def test_our_own_of_compare(succeed):
    shown = succeed("compare --config compare --dataset iris --dry-run")
    assert "iris" in shown


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[sweep]\nfan_out = 3", ["'fan_out' in [sweep]", "Did you mean 'fanout'?"]),
        ("sede = 3", ["'sede'", "Did you mean 'seed'?"]),
        ("[swep]\nseed = 3", ["'swep'", "Did you mean 'sweep'?"]),
        ("[ensemble]\nrepaets = 3", ["'repaets' in [ensemble]", "'repeats'"]),
        ("zzz = 3", ["'zzz'", "Known:"]),
        ("weight-range = 3", ["Did you mean 'weight_range'?"]),
        ('[sweep]\nrepeats = "many"', ["repeats", "'many'", "whole number"]),
        ("[sweep]\nrepeats = 2.5", ["repeats", "2.5"]),
        ("[sweep]\nrepeats = true", ["repeats", "True"]),
        ("bias = 1", ["bias", "True or False"]),
        ('quiet = "perhaps"', ["quiet", "'perhaps'"]),
        ("quiet = 3", ["quiet", "3"]),
        ('priors = [0.5, "x"]', ["priors"]),
        ('activation = "tanhh"', ["activation", "'tanhh'", "tanh"]),
        ("hidden = []", ["hidden"]),
        ("[sweep\n", ["TOML", "line 1"]),
        ("seed = 1\nseed = 2", ["TOML"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_the_file(config, refusal, tmp_path, text, words):
    config(text)
    message = refusal("sweep --config mine.toml --dataset iris")
    assert message.startswith("Error: mine.toml: ")
    for word in words:
        assert word in message
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_files_that_are_none(refusal, tmp_path):
    assert "paper" in refusal("sweep --config nosuch")
    (tmp_path / "folder.toml").mkdir()
    assert "folder.toml" in refusal("sweep --config folder.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    assert "bytes.toml" in refusal("sweep --config bytes.toml")
