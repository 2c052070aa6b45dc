"""Records that are recomputed: those of a made-up run, of iris and of MNIST, and what is refused."""

import ast
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from equations import accumulate, literal_lda
from made_runs import make_run

import elmlda.verify
from elmlda import Sweep
from elmlda.core.evaluate import count_errors
from elmlda.core.hidden import HiddenLayer, draw_uniform_weights
from elmlda.core.solve import derive_lda, solve_pi
from elmlda.datasets.catalogue import load_dataset
from elmlda.errors import ElmldaError
from elmlda.verify import find_differences, verify_run

METHODS = ("pi", "pi_constant", "lda")
REGISTERED = Path(__file__).parents[1] / "results/paper"


@pytest.fixture
def dataset(make_dataset):
    return make_dataset(n_train=401, n_test=199, n_inputs=9, n_classes=4, dtype=np.uint8)


@pytest.fixture(autouse=True)
def _several_blocks(monkeypatch):
    """Not a divisor of the samples' number."""
    monkeypatch.setattr(elmlda.verify, "BLOCK", 150)


def one_pass(dataset, key, n_hidden, ridge=0.0, seed=1, sizes=None, **settings):
    """Errors by method at each size, as the package computes them, in float64."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    n_weights = dataset.n_inputs + settings.get("bias", False)
    weights = draw_uniform_weights(rng, n_weights, n_hidden, settings.get("weight_range", 0.5))
    scale = settings.get("input_scale", dataset.input_scale)
    details = settings.get("activation", "tanh"), scale, 1, settings.get("bias", False)
    layer = HiddenLayer(weights, *details)
    sums = accumulate(layer.outputs(dataset.train.inputs), dataset.train.labels, dataset.n_classes)
    pi = solve_pi(sums, sizes or (n_hidden,), ridge)
    scores = pi.scores(layer.outputs(dataset.test.inputs))
    counts = sums.class_counts
    priors = {
        "uniform": np.full(len(counts), 1 / len(counts)),
        "frequencies": counts / counts.sum(),
    }.get(str(settings.get("priors", "uniform")))
    if priors is None:
        priors = np.array(settings["priors"])
    by_method = scores, pi.add_constant_unit(scores), derive_lda(pi, priors).scores(scores)
    return [count_errors(method_scores, dataset.test.labels).tolist() for method_scores in by_method]


def make_row(dataset, repeat, n_hidden, counts, fold=None, ridge=0.0, rule="fixed"):
    errors = {f"{method}_errors": count for method, count in zip(METHODS, counts, strict=True)}
    return {
        "repeat": repeat, "fold": fold, "n_hidden": n_hidden, "fanout": n_hidden / dataset.n_inputs,
        "rule": rule, "ridge": ridge, **errors, "n_test": len(dataset.test.labels),
        "seconds": 0.1, "precision": "double", "machine": 0,
    }  # fmt: skip


def write_run(folder, rows, experiments=None, **run):
    run = {"dataset": "clouds", "seed": 1, **run}
    return make_run(folder, run, experiments, sweep=pd.DataFrame(rows))


def write_nested(folder, dataset, repeats=3, sizes=(4, 9, 18), ridge=0.0, **run):
    rows = []
    for repeat in range(repeats):
        counts = one_pass(dataset, (repeat,), sizes[-1], ridge, sizes=sizes, **run)
        by_size = zip(sizes, *counts, strict=True)
        rows += [make_row(dataset, repeat, size, errors, ridge=ridge) for size, *errors in by_size]
    return write_run(folder, rows, **run)


def assert_all_equal(records, n_records):
    assert len(records) == n_records
    assert find_differences(records).tolist() == [0] * 3 * n_records, records


def test_it_imports_nothing_of_what_it_checks():
    tree = ast.parse(Path(elmlda.verify.__file__).read_text("utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    ours = {module.removeprefix("elmlda.") for module in modules if module.startswith("elmlda")}
    assert ours <= {
        *("datasets.arrays", "datasets.catalogue", "datasets", "datasets.split"),
        *("datasets.tables", "errors", "runs.folder", "runs.tables", "experiments.specs"),
    }


SETTINGS = {
    "defaults": {},
    "ridge": {"ridge": 2.0},
    "bias": {"bias": True},
    "logistic": {"activation": "logistic", "weight_range": 2.0},
    "relu, ridge": {"activation": "relu", "ridge": 0.5},
    "softsign": {"activation": "softsign", "weight_range": 2.0},
    "sine": {"activation": "sine", "input_scale": 0.02},
    "frequencies": {"priors": "frequencies"},
    "priors": {"priors": [0.1, 0.2, 0.3, 0.4]},
}


@pytest.mark.parametrize("small", [1 << 24, 0], ids=["lstsq", "normal equations"])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_a_nested_run(tmp_path, dataset, settings, small, monkeypatch):
    monkeypatch.setattr(elmlda.verify, "SMALL", small)
    write_nested(tmp_path, dataset, **settings)
    assert_all_equal(verify_run(tmp_path, 100, data=dataset), 9)


def test_a_run_that_numpy_alone_made(tmp_path, dataset):
    """Eq. (5) by the pseudo-inverse, Eq. (12) sample by sample."""
    weights = np.random.default_rng(np.random.SeedSequence(1, spawn_key=(7,))).uniform(
        -0.5, 0.5, (9, 9)
    )
    train, test = (np.tanh(part.inputs / 255 @ weights.T) for part in (dataset.train, dataset.test))
    targets, ones = np.eye(4)[dataset.train.labels], [np.ones((len(part), 1)) for part in (train, test)]
    lda = literal_lda(train, dataset.train.labels, np.full(4, 0.25))
    with_ones = [np.hstack(parts) for parts in zip((train, test), ones, strict=True)]
    scores = [
        test @ np.linalg.pinv(train) @ targets,
        with_ones[1] @ np.linalg.pinv(with_ones[0]) @ targets,
        test @ lda[1:] + lda[0],
    ]
    counts = [np.count_nonzero(y.argmax(axis=1) != dataset.test.labels) for y in scores]
    write_run(tmp_path, [make_row(dataset, 7, 9, counts)])
    assert_all_equal(verify_run(tmp_path, data=dataset), 1)


def test_an_independent_run(tmp_path, dataset):
    """Networks of their own for each size: known by the fan-out or, if not whole, by the units."""
    keys = {9: (2, 1), 18: (2, 2), 13: (2, 0, 13)}
    counts = {size: np.ravel(one_pass(dataset, key, size)) for size, key in keys.items()}
    rows = [make_row(dataset, 2, size, errors) for size, errors in counts.items()]
    write_run(tmp_path, rows, design="independent")
    assert_all_equal(verify_run(tmp_path, data=dataset), 3)


def test_the_ridge_that_a_rule_chose_is_the_records(tmp_path, dataset):
    rows = [
        make_row(dataset, 0, 9, np.ravel(one_pass(dataset, (0,), 9, ridge)), ridge=ridge, rule=rule)
        for rule, ridge in [("fixed", 0.0), ("fixed", 5.0), ("gcv", 40.0), ("loo", 0.3)]
    ]
    write_run(tmp_path, rows, ridge=[0.0, 5.0, "gcv", "loo"])
    records = verify_run(tmp_path, data=dataset)
    assert_all_equal(records, 4)
    assert records["rule"].tolist() == ["fixed", "fixed", "gcv", "loo"]


def test_folds(tmp_path, dataset):
    whole, rows = replace(dataset, test=None), []
    for repeat in range(2):
        rng = np.random.default_rng(np.random.SeedSequence(1, spawn_key=(repeat, 0)))
        for fold, divided in enumerate(whole.folds(5, rng)):
            counts = np.ravel(one_pass(divided, (repeat, 1 + fold), 9))
            rows.append(make_row(divided, repeat, 9, counts, fold))
    write_run(tmp_path, rows, {"sweep": {"folds": 5}})
    records = verify_run(tmp_path, 10, data=whole)
    assert_all_equal(records, 10)
    assert records["fold"].tolist() == [0, 1, 2, 3, 4] * 2


def test_data_without_a_test_part_are_split(tmp_path, dataset):
    whole = replace(dataset, test=None)
    write_nested(tmp_path, whole.split())
    assert_all_equal(verify_run(tmp_path, data=whole), 9)


def test_held_out_samples(tmp_path, dataset):
    write_nested(tmp_path, dataset.split(100))
    write_run(tmp_path, pd.read_csv(tmp_path / "sweep.csv"), {"sweep": {"validation": 100}})
    assert_all_equal(verify_run(tmp_path, data=dataset), 9)


def test_iris(tmp_path):
    """Standardised by the training part, and loaded by its name."""
    iris = load_dataset("iris")
    iris = iris if iris.test is not None else iris.split()
    write_nested(tmp_path, iris, sizes=(4, 8, 20), ridge=1e-2)
    rows = pd.read_csv(tmp_path / "sweep.csv")
    write_run(tmp_path, rows, dataset="iris", sha256=iris.checksums)
    assert_all_equal(verify_run(tmp_path), 9)


def test_the_registered_run(mnist, monkeypatch):
    """Some of its rows at fan-out 1; float32 and other processors may move a count by one."""
    monkeypatch.setattr(elmlda.verify, "BLOCK", 4000)
    off = find_differences(verify_run(REGISTERED, 2, fanout_up_to=1, data=mnist))
    assert len(off) == 6
    assert off.max() <= 1


def test_the_committed_output():
    """Its rows are those of seed 0, with the counts of sweep.csv; its last line counts them right."""
    shown = pd.read_csv(REGISTERED / "verify.txt", sep=r"\s+", skipfooter=1, engine="python")
    sweep = pd.read_csv(REGISTERED / "sweep.csv")
    chosen = sweep.loc[np.sort(np.random.default_rng(0).choice(len(sweep), 30, replace=False))]
    recorded = ["repeat", "n_hidden", *(f"{method}_errors" for method in METHODS)]
    np.testing.assert_array_equal(shown[recorded], chosen[recorded])
    off = find_differences(shown)
    last = (REGISTERED / "verify.txt").read_text("utf-8").splitlines()[-1]
    counted = [30, len(off), (off == 0).sum(), (off == 1).sum(), off.max()]
    assert [int(number) for number in re.findall(r"\d+", last)] == counted


# What is chosen, and what it comes to


def test_records_are_chosen_at_random_and_shown_in_their_order(tmp_path, dataset):
    write_nested(tmp_path, dataset, repeats=6)

    def choose(seed):
        records = verify_run(tmp_path, 5, np.random.default_rng(seed), data=dataset)
        return list(zip(records["repeat"], records["n_hidden"], strict=True))

    assert choose(1) == choose(1) == sorted(set(choose(1)))
    assert choose(1) != choose(2)
    assert len(choose(1)) == 5


def test_large_networks_are_left_out(tmp_path, dataset):
    write_nested(tmp_path, dataset)
    records = verify_run(tmp_path, 100, data=dataset, fanout_up_to=1)
    assert sorted(set(records["n_hidden"])) == [4, 9]
    with pytest.raises(ElmldaError, match=r"fan-out up to 0\.1"):
        verify_run(tmp_path, data=dataset, fanout_up_to=0.1)


def test_what_is_off_is_counted(tmp_path, dataset):
    write_nested(tmp_path, dataset)
    rows = pd.read_csv(tmp_path / "sweep.csv")
    rows.loc[0, "pi_errors"] += 1
    rows.loc[3, "lda_errors"] -= 1
    rows.loc[4, "pi_constant_errors"] += 7
    rows.to_csv(tmp_path / "sweep.csv", index=False)
    records = verify_run(tmp_path, data=dataset)
    assert records.loc[4, "pi_constant_errors"] - records.loc[4, "pi_constant_recomputed"] == 7
    assert sorted(find_differences(records)) == [0] * 24 + [1, 1, 7]


def test_what_was_not_recorded_is_not_compared(tmp_path, dataset):
    """LDA-ELM has no solution where a combination of the units is constant in every class."""
    write_nested(tmp_path, dataset)
    rows = pd.read_csv(tmp_path / "sweep.csv")
    rows.loc[2, "lda_errors"] = None
    rows.loc[5, ["pi_constant_errors", "lda_errors"]] = None
    rows.to_csv(tmp_path / "sweep.csv", index=False)
    records = verify_run(tmp_path, data=dataset)
    assert records.loc[2, ["lda_errors", "lda_recomputed"]].isna().all()
    assert find_differences(records).tolist() == [0] * 24


# Refusals


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"input_weights": "constrained"}, "input_weights constrained"),
        ({"dropout": 0.5}, r"dropout 0\.5"),
        ({"sha256": {"train-images": "0" * 64}}, "clouds .* train-images"),
    ],
)
def test_what_cannot_be_recomputed_is_refused_by_name(tmp_path, dataset, run, message):
    write_run(tmp_path, [{**make_row(dataset, 3, 9, (1, 1, 1)), "n_test": 50}], **run)
    with pytest.raises(ElmldaError, match=message):
        verify_run(tmp_path, data=dataset)


@pytest.mark.parametrize("name", ["manifest.json", "sweep.csv"])
def test_a_folder_without_a_sweep_is_refused(tmp_path, dataset, name):
    write_run(tmp_path, [make_row(dataset, 0, 9, (1, 1, 1))])
    (tmp_path / name).unlink()
    with pytest.raises(ElmldaError, match=f"no .*{name}"):
        verify_run(tmp_path, data=dataset)


def own_table(n=80):
    rng, kinds = np.random.default_rng(0), np.arange(n) % 2
    columns = {
        "id": range(n),
        "width": rng.normal(kinds, 0.7).round(2),
        "kind": np.where(kinds, "b", "a"),
    }
    return pd.DataFrame(columns)


def test_a_run_of_a_file_is_recomputed_from_the_file(tmp_path, monkeypatch):
    """The file in the current folder, or wherever the user says; its checksum decides."""
    monkeypatch.chdir(tmp_path)
    table = own_table()
    table.loc[3, "width"] = np.nan
    table.to_csv("mine.csv", index=False)
    options = {"label": "kind", "drop": "id", "missing": "mean", "hidden": [2, 3], "repeats": 2}
    Sweep(dataset="mine.csv", folds=4, **options).run("run")
    assert_all_equal(verify_run("run"), 12)
    Path("elsewhere").mkdir()
    Path("mine.csv").rename("elsewhere/mine.csv")
    with pytest.raises(ElmldaError, match=r"mine\.csv"):
        verify_run("run")
    assert_all_equal(verify_run("run", data="elsewhere/mine.csv"), 12)
    own_table(79).to_csv("other.csv", index=False)
    with pytest.raises(ElmldaError, match=r"mine\.csv"):
        verify_run("run", data="other.csv")


@pytest.mark.parametrize("missing", [None, "drop"])
def test_a_run_of_a_table_or_of_arrays_is_recomputed_from_them(tmp_path, missing):
    table = own_table()
    Sweep(dataset=table, label="kind", missing=missing, hidden=3, repeats=2).run(tmp_path / "table")
    assert_all_equal(verify_run(tmp_path / "table", data=table), 2)
    pair = table[["width"]].to_numpy(), table["kind"].to_numpy()
    Sweep(dataset=pair, hidden=3, repeats=2, validation=10).run(tmp_path / "pair")
    assert_all_equal(verify_run(tmp_path / "pair", data=pair), 2)


def test_columns_that_are_left_out_may_have_commas_in_their_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = own_table().rename(columns={"id": 'id, "old"'}).assign(note=1.5)
    table.to_csv("iris.csv", index=False)  # the name of a set in the catalogue, too
    Sweep(dataset="iris.csv", label="kind", drop=['id, "old"', "note"], hidden=3, repeats=2).run("run")
    assert_all_equal(verify_run("run"), 2)


@pytest.mark.parametrize("header", [True, False])
def test_a_file_that_does_not_tell_its_header_is_read_as_for_the_run(tmp_path, monkeypatch, header):
    monkeypatch.chdir(tmp_path)
    own_table().assign(kind=lambda table: table["id"] % 2).to_csv("mine.csv.gz", index=False)
    numbers = pd.read_csv("mine.csv.gz").set_axis([0, 1, 2], axis=1)
    numbers["1"] = numbers[1].round(1)
    numbers.drop(columns=1).to_csv("mine.csv.gz", index=False, header=header)
    Sweep(dataset="mine.csv.gz", label=2, header=header, hidden=2, repeats=2).run("run")
    assert_all_equal(verify_run("run"), 2)


def test_arrays_and_images_are_found_in_the_current_folder(tmp_path, monkeypatch, clouds):
    """The checksum decides, not the name: a folder or an .npz of that name may have other data."""
    monkeypatch.chdir(clouds.parent)
    table = own_table()
    np.savez(tmp_path / "arrays.npz", x=table[["width"]], y=table["kind"].to_numpy(str))
    for name in (clouds.name, tmp_path / "arrays.npz"):
        Sweep(dataset=name, hidden=3, repeats=2).run(tmp_path / "runs" / Path(name).stem)
    assert_all_equal(verify_run(tmp_path / "runs/clouds"), 2)
    monkeypatch.chdir(tmp_path)
    assert_all_equal(verify_run("runs/arrays"), 2)
    for other in ("arrays.npz", clouds):
        for run in {"arrays", "clouds"} - {Path(other).stem}:
            with pytest.raises(ElmldaError, match="is not the run's data"):
                verify_run(f"runs/{run}", data=other)
    table.to_csv("table.csv", index=False)
    with pytest.raises(ElmldaError, match="is not the run's data"):
        verify_run("runs/arrays", data="table.csv")
