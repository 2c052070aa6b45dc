"""What commands say of --precision bfloat16, whatever this processor is."""

from command_line import read_raw_manifest, read_rows

from elmlda.core.bfloat16 import choose_multiplier


def test_what_multiplies_is_said_and_recorded(invoke, clouds, tmp_path):
    sweep = "sweep", "--data-dir", clouds, "--fanout", "1-2", "--precision", "bfloat16", "--out", "run"
    assert f"\nbfloat16       {choose_multiplier()}" in invoke(*sweep, "--dry-run").stdout
    assert f"\nbfloat16 {choose_multiplier()}.\n" in invoke(*sweep, "--repeats", 2).stderr
    assert {row["precision"] for row in read_rows(tmp_path / "run/sweep.csv")} == {"bfloat16"}
    (machine,) = read_raw_manifest(tmp_path / "run")["machines"]
    assert machine["bfloat16"] == choose_multiplier().library
    refused = invoke(*sweep, "--precision", "mixed")
    assert "was made with precision bfloat16; this command has precision mixed" in refused.stderr


def test_training_says_it_too(invoke, clouds):
    train = "train", "--data-dir", clouds, "--hidden", 20, "--precision", "bfloat16", "--force"
    assert invoke(*train).stderr == f"bfloat16 {choose_multiplier()}.\n"
    assert invoke(*train, "--quiet").stderr == ""


def test_other_precisions_have_nothing_to_say(invoke, clouds, tmp_path):
    sweep = "sweep", "--data-dir", clouds, "--fanout", "1", "--repeats", 1, "--out", "run"
    assert "bfloat16" not in invoke(*sweep, "--dry-run").stdout + invoke(*sweep).output
    assert "bfloat16" not in (tmp_path / "run/manifest.json").read_text()
