"""Runs' folders as elmlda writes them (schema 4), made up."""

import json

import numpy as np
import pandas as pd

from elmlda import paper
from elmlda.core.subsets import draw_subsets
from elmlda.datasets.catalogue import CATALOGUE
from elmlda.runs.kept import keep_network, keep_test
from elmlda.runs.tables import TABLES

N_TEST = 10_000
MNIST = {
    "dataset": "mnist",
    "sha256": {f"file{i}": d for i, d in enumerate(sorted(CATALOGUE["mnist"].checksums.values()))},
}
PETS = {"dataset": "pets", "sha256": {"pets.csv": "0" * 64}}
MACHINE = {"cpu": "Abacus 7", "cores": 2, "blas": ["openblas 1", "openblas 2"]}


def make_run(folder, run=None, experiments=None, commands=("elmlda sweep",), **tables):
    """Write a run; tables are DataFrames by the name of their file, columns that lack are empty."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {
        "schema": 4,
        "run": MNIST if run is None else run,
        "experiments": experiments or {"sweep": {}},
        "commands": [{"command": c, "version": "0.2.0", "machine": 0} for c in commands],
        "machines": [MACHINE],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    for name, table in tables.items():
        table.reindex(columns=TABLES[name].names).to_csv(folder / f"{name}.csv", index=False)
    return folder


def sweep(counts, n_test=N_TEST, n_inputs=784, rule="fixed", ridge=0.0, **columns):
    """Fan-out -> a row (PI, PI with a constant unit, LDA) of counts for each repeat; None: no LDA."""
    rows = [
        {"repeat": repeat, "n_hidden": round(n_inputs * fanout), "fanout": fanout, "rule": rule,
         "ridge": ridge, "pi_errors": pi, "pi_constant_errors": constant, "lda_errors": lda,
         "n_test": n_test, "seconds": 1.0, "precision": "mixed", "machine": 0, **columns}
        for fanout, repeats in counts.items()
        for repeat, (pi, constant, lda) in enumerate(repeats)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def simulate_sweep(rng, n=200, pi_shift=0.0, constant_shift=0.0, lda_shift=0.0, fanouts=range(1, 21)):
    """A sweep whose true rates are the paper's, plus shifts in points; networks' fan-outs correlate."""
    places, counts = np.log(list(paper.PI_ERROR_PERCENT)), {}
    common = rng.standard_normal((n, 1))
    for fanout in fanouts:
        pi, lda = (
            np.interp(np.log(fanout), places, list(table.values()))
            for table in (paper.PI_ERROR_PERCENT, paper.LDA_ERROR_PERCENT)
        )
        truth = np.array([pi + pi_shift, pi + constant_shift, lda + lda_shift])
        shared = 0.5 * common + 0.7 * rng.standard_normal((n, 1))
        noise = 0.025 * pi * (shared + 0.3 * rng.standard_normal((n, 3)))
        counts[fanout] = np.rint(100 * (truth + noise)).astype(int)
    return sweep(counts)


def simulate_draws(rng, n=200, shift=0.0):
    """draws.csv, if ensembles' errors were the paper's curve plus the means of their networks'."""
    sizes = np.arange(1, 21)
    curve = np.interp(np.log(sizes), np.log([1, 2, 20]), [208.0, 186.0, 169.0 + shift])
    skill, n_draws = rng.normal(0, 9, n), 4_000
    orders = rng.permuted(np.tile(np.arange(n), (n_draws, 1)), axis=1)[:, :20]
    errors = curve + skill[orders].cumsum(axis=1) / sizes + rng.normal(0, 2, (n_draws, 20))
    drawn = np.zeros((n_draws, n), bool)
    np.put_along_axis(drawn, orders, True, axis=1)
    rows = [(-1, n_draws, errors.mean(axis=0))]
    rows += [(i, (~drawn[:, i]).sum(), errors[~drawn[:, i]].mean(axis=0)) for i in range(n)]
    rows += [(-2 - b, 20, errors[20 * b : 20 * b + 20].mean(axis=0)) for b in range(n_draws // 20)]
    parts = [
        pd.DataFrame({"size": sizes, "left_out": left, "draws": count, "errors": means})
        for left, count, means in rows
    ]
    return pd.concat(parts)


def simulate_timing(rng, extra=0.05, fanouts=paper.FANOUTS, pairs=5):
    """Pairs in the order PI, LDA, LDA, PI: two pairs for each four positions."""
    rows = [
        {"pair": pair, "position": 2 * (pair % 2) + place, "fanout": fanout, "n_hidden": 784 * fanout,
         "method": method, "cpu_seconds": (fanout**2 * (1 + extra * (method == "lda"))) * noise,
         "seconds": fanout**2 * noise, "test_seconds": 0.1, "hidden_seconds": 0.5 * fanout**2 * noise, "precision": "mixed", "machine": 0}
        for fanout in fanouts
        for pair in range(pairs)
        for place, method in enumerate(("pi", "lda")[:: 1 - 2 * (pair % 2)])
        for noise in [rng.lognormal(0, 0.01)]
    ]  # fmt: skip
    return pd.DataFrame(rows)


def keep(folder, posteriors, labels, sizes=(), wrong=None, tempered=None):
    """Write kept/: posteriors networks × samples × classes, wrong networks × 3 × sizes × samples."""
    keep_test(folder, labels.astype(np.int64), [f"class {i}" for i in range(posteriors.shape[2])])
    for k in range(len(posteriors)):
        arrays = {"posteriors": posteriors[k].astype(np.float16)}
        if wrong is not None:
            arrays["wrong"] = np.packbits(wrong[k].astype(bool), axis=-1)
            arrays["sizes"] = np.array(sizes, np.int64)
        if tempered is not None:
            arrays["tempered"] = tempered[k].astype(np.float16)
        keep_network(folder, k, arrays)


def draw_posteriors(rng, n_networks, n_test=300, n_classes=4):
    """Posteriors (float16) of networks that err on the same samples more often than by chance."""
    labels = rng.integers(0, n_classes, n_test)
    scores = rng.normal(0, 1, (n_test, n_classes)) + 2.5 * (np.arange(n_classes) == labels[:, None])
    noisy = scores + rng.normal(0, 1, (n_networks, n_test, n_classes))
    shares = np.exp(noisy)
    return (shares / shares.sum(axis=-1, keepdims=True)).astype(np.float16), labels


def draws_table(posteriors, labels, n_draws, size, seed=0):
    return pd.DataFrame(draw_subsets(posteriors, labels, n_draws, size, np.random.default_rng(seed)))
