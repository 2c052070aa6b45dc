"""sweep, ensemble and timing on every set of the catalogue, and on the user's own files."""

import numpy as np
import pytest
from command_line import read_raw_manifest

from elmlda.datasets.catalogue import CATALOGUE
from elmlda.datasets.known_sets import TextSet

TABLES = [name for name, entry in CATALOGUE.items() if isinstance(entry, TextSet)]


@pytest.mark.parametrize("name", TABLES)
def test_every_command_on_every_table(invoke, tmp_path, name):
    common = ["--dataset", name, "--threads", 1]
    for command in (
        ["sweep", "--fanout", "1-2", "--repeats", 2],
        ["ensemble", "--fanout", 2, "--n", 2, "--repeats", 1],
        ["timing", "--fanout", "1-2", "--repeats", 1],
        ["report", f"results/{name}", "--format", "csv", "--format", "md"],
    ):
        result = invoke(*command, *(common if command[0] != "report" else []))
        assert result.exit_code == 0, result.output
        assert "nan" not in result.stdout.lower()
    made = read_raw_manifest(tmp_path / "results" / name)["run"]
    assert made.get("inputs") == ("standardised by the training part" if name != "digits" else None)
    assert ("split" in made) == (name != "satimage")
    rows = (tmp_path / "results" / name / "sweep.csv").read_text().splitlines()
    assert len(rows) == 1 + 4
    for row in rows[1:]:  # better than always the commonest class
        errors, n_test = (int(row.split(",")[i]) for i in (5, 6))
        assert errors < 0.5 * n_test


def test_the_same_counts_again(invoke, tmp_path):
    for out in ("a", "b"):
        invoke("sweep", "--dataset", "wine", "--fanout", "1-3", "--repeats", 2, "--out", out)
    first, second = (
        [line.split(",")[:7] for line in (tmp_path / out / "sweep.csv").read_text().splitlines()]
        for out in ("a", "b")
    )
    assert first == second


def test_workers_load_the_same_data(invoke, tmp_path):
    (tmp_path / "pets.csv").write_text(
        "size,kind\n" + "".join(f"{i % 7 + 3 * (i % 2)},{'ab'[i % 2]}\n" for i in range(60))
    )
    common = [
        "--dataset",
        "pets.csv",
        "--label",
        "kind",
        "--hidden",
        5,
        "--repeats",
        4,
        "--ridge",
        1e-3,
    ]
    for jobs in (1, 2):
        result = invoke("sweep", *common, "--jobs", jobs, "--threads", 1, "--out", f"jobs{jobs}")
        assert result.exit_code == 0, result.output
    first, second = (
        [line.split(",")[:7] for line in (tmp_path / out / "sweep.csv").read_text().splitlines()]
        for out in ("jobs1", "jobs2")
    )
    assert first == second


def test_a_run_goes_on_only_with_the_same_label(invoke, refusal, tmp_path):
    rows = "".join(f"{i},{'ab'[i % 2]},{'cd'[i // 20]}\n" for i in range(40))
    (tmp_path / "pets.csv").write_text("size,kind,place\n" + rows)
    common = ["sweep", "--dataset", "pets.csv", "--hidden", 3, "--repeats", 1, "--label"]
    assert invoke(*common, "kind").exit_code == 0
    assert read_raw_manifest(tmp_path / "results" / "pets")["run"]["label"] == "kind"
    message = refusal(*common, "place")
    assert message.startswith("results/pets was made with label kind, rows ")
    assert "; this command has label place, rows " in message
    message = refusal(*common, "kind", "--drop", "place", "--hidden", 1)
    assert message.startswith("results/pets was made with drop not set; this command has drop place")


def test_an_ensemble_by_its_hidden_units(invoke, tmp_path):
    common = ["ensemble", "--dataset", "iris", "--n", 2, "--repeats", 1]
    for out, size in (("a", ("--hidden", 12)), ("b", ("--fanout", 3))):
        assert invoke(*common, *size, "--out", out).exit_code == 0
    first, second = ((tmp_path / out / "ensemble.csv").read_text().splitlines() for out in "ab")
    assert [row.split(",")[:5] for row in first] == [row.split(",")[:5] for row in second]


def test_an_ensemble_says_what_a_sweep_has_kept(invoke, tmp_path):
    assert invoke("sweep", "--dataset", "iris", "--hidden", "8,13", "--repeats", 2).exit_code == 0
    result = invoke("ensemble", "--dataset", "iris", "--hidden", 8, "--n", 2, "--repeats", 1)
    kept = "are of 2 networks of 13 hidden units. Use --hidden 13 --n 2 --repeats 1 to combine those"
    assert kept in result.stderr


@pytest.mark.parametrize("command", ["sweep", "ensemble", "compare", "tune", "train"])
def test_a_fanout_and_hidden_units_exclude_each_other(invoke, command):
    result = invoke(command, "--dataset", "iris", "--fanout", 2, "--hidden", 5)
    assert result.exit_code == 2
    assert "--fanout and --hidden exclude each other: give one of them." in result.stderr


def test_a_run_does_not_go_on_with_a_changed_file(invoke, refusal, tmp_path):
    rng = np.random.default_rng(0)
    arrays = {"x": rng.normal(size=(40, 3)), "y": np.arange(40) % 2}
    np.savez(tmp_path / "mine.npz", **arrays)
    common = ["sweep", "--dataset", "mine.npz", "--fanout", 1, "--repeats", 1]
    assert invoke(*common).exit_code == 0
    np.savez(tmp_path / "mine.npz", x=arrays["x"] + 1, y=arrays["y"])
    assert refusal(*common) == (
        "results/mine was made with other data (x differ). "
        "Use the same data to continue it, or another --out for a new run."
    )


def test_more_hidden_units_than_samples(refusal, invoke):
    assert refusal("sweep", "--dataset", "wine") == (
        "118 training samples in 3 classes can carry at most 115 hidden units without a ridge, 260 are "
        "asked for. "
        "Add --ridge 1e-3, or use at most --fanout 8."
    )
    result = invoke("sweep", "--dataset", "wine", "--repeats", 1, "--ridge", "1e-3")
    assert result.exit_code == 0, result.output


def test_double_is_told_of_once(invoke, monkeypatch):
    iris = "sweep", "--dataset", "iris", "--repeats", 5
    assert "float32" not in invoke(*iris).stderr, "in double from the beginning: it costs nothing"
    monkeypatch.setattr("elmlda.experiments.plan.CHEAP_IN_DOUBLE", 0)
    assert invoke(*iris, "--seed", 1, "--out", "other").stderr.count("float32 was not enough") == 1


def test_small_data_have_the_same_counts_whatever_threads_and_precision(invoke, tmp_path):
    """Abalone's units nearly depend on one another; float32 would move one count in twelve."""
    sweep = "sweep", "--dataset", "abalone", "--hidden", 80, "--repeats", 40, "--out"
    invoke(*sweep, "one", "--threads", 1)
    invoke(*sweep, "two", "--threads", 2)
    invoke(*sweep, "double", "--precision", "double")
    one, two, double = (
        [line.split(",")[:7] for line in (tmp_path / out / "sweep.csv").read_text().splitlines()]
        for out in ("one", "two", "double")
    )
    assert one == two == double


def test_a_dry_run_says_that_the_split_is_fixed(invoke, monkeypatch):
    monkeypatch.setattr("elmlda.networks.cost.measure_matmul_speed", lambda *_: 1e11)
    output = invoke("sweep", "--dataset", "iris", "--dry-run").stdout
    assert "data           iris: 100 to train on, 50 to test on, always the same" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dataset", "mine.csv"], "mine.csv: cannot be read: No such file or directory."),
        (
            ["--dataset", "iris", "--label", "x"],
            "iris: not a .csv file, so there is no column to name. Leave out --label.",
        ),
        (["--label", "x"], "mnist: not a .csv file, so there is no column to name. Leave out --label."),
        (
            ["--dataset", "./mine"],
            "./mine: no such file or folder: expected a .npz or .csv file, or a folder of four IDX "
            "files.",
        ),
        (
            ["--dataset", "/dev/null"],
            "/dev/null: expected a .npz or .csv file, or a folder of four IDX files.",
        ),
    ],
)
@pytest.mark.parametrize("command", ["sweep", "ensemble", "timing"])
def test_what_is_refused(refusal, command, arguments, message):
    assert refusal(command, *arguments) == message


def test_a_folder_may_be_the_data_set(invoke, clouds, tmp_path):
    result = invoke("sweep", "--dataset", clouds, "--fanout", 1, "--repeats", 1)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "results" / "clouds" / "sweep.csv").exists()


def test_a_label_may_be_set_in_a_configuration_file(invoke, tmp_path):
    (tmp_path / "pets.csv").write_text("size,kind\n" + "1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n" * 3)
    (tmp_path / "mine.toml").write_text("dataset = 'pets.csv'\nlabel = 'kind'\nhidden = 2\nrepeats = 1")
    assert invoke("sweep", "--config", "mine.toml").exit_code == 0
