"""Measure Table 2 with GNU Octave: the paper's equations as MATLAB code, in double precision.

Each method trains and tests each network in a process of its own, with one thread. PI-ELM is first in
half of the blocks. See README.md for the commands.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import savemat

sys.path.append(str(Path(__file__).resolve().parents[1]))
from rows import append_rows, list_missing

from elmlda import load_dataset, paper
from elmlda.core.evaluate import count_errors
from elmlda.datasets.split import Dataset
from elmlda.networks.train import Recipe, train_and_test
from elmlda.options import NetworkOptions

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "results/octave/table2.csv"
FEW, MANY, LARGEST_OF_MANY = 3, 5, 10
"""Number of networks above and up to fan-out 10."""


def list_blocks() -> Iterator[tuple[int, int, tuple[str, str]]]:
    """Yield network, fan-out and the order of the methods; neighbouring blocks have opposite orders."""
    is_pi_first = True
    for network in range(MANY):
        for fanout in paper.FANOUTS:
            if fanout <= LARGEST_OF_MANY or network < FEW:
                yield network, fanout, ("pi", "lda") if is_pi_first else ("lda", "pi")
                is_pi_first = not is_pi_first


def write_data(path: Path, data: Dataset) -> None:
    """Write the images as columns, and the digits, for Octave."""
    arrays = {}
    for name, part in (("train", data.train), ("test", data.test)):
        arrays[f"{name}_x"], arrays[f"{name}_t"] = part.inputs.T, part.labels.astype(float)
    savemat(path, arrays)


def run_octave(method: str, fanout: int, network: int, *files: Path) -> dict[str, Any]:
    """Train and test a network with Octave, with one thread; return what it printed."""
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = ["octave-cli", "--norc", "--no-history", str(HERE / "table2.m"), method]
    arguments = map(str, (fanout, network, *files))
    output = subprocess.run(
        [*command, *arguments], env=os.environ | threads, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return dict(pair.split("=", 1) for pair in output.split())


def measure(folder: Path) -> None:
    """Measure the networks that have no rows."""
    write_data(folder / "data.mat", load_dataset("mnist"))
    for network, fanout, methods in list_blocks():
        keys = [(network, fanout, method) for method in methods]
        for key in list_missing(TABLE, ("network", "fanout", "method"), keys):
            load = os.getloadavg()[0]
            row = run_octave(key[2], fanout, network, folder / "data.mat")
            place = {"network": network, "fanout": fanout, "method": key[2]}
            machine = {"load_before": load, "processor": describe_processor()}
            append_rows(TABLE, [place | {"position": methods.index(key[2])} | row | machine])
            print(place, row["seconds"], "s", flush=True)


def describe_processor() -> str:
    """Return the processor's name."""
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def compare(folder: Path, data: Dataset, fanout: int, network: int) -> dict[str, tuple[int, int]]:
    """Return each method's test errors by Octave and by elmlda in double, with elmlda's weights."""
    assert data.test is not None
    write_data(folder / "data.mat", data)
    n_hidden, seed = fanout * data.n_inputs, np.random.SeedSequence(1, spawn_key=(network,))
    options = NetworkOptions(precision="double", input_scale=1 / 255)
    recipe = Recipe.for_dataset(data, seed, n_hidden, options)
    savemat(folder / "weights.mat", {"W1": recipe.draw_layer().input_weights.T})
    (scores,) = train_and_test(data, recipe, {0.0: (n_hidden,)}).scores
    counts = {}
    for method, values in (("pi", scores.pi), ("lda", scores.lda)):
        files = folder / "data.mat", folder / "weights.mat"
        octave = int(run_octave(method, fanout, network, *files)["errors"])
        counts[method] = octave, int(count_errors(values, data.test.labels)[0])
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare error counts with elmlda's")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if arguments.check:
            for size in (1, 2):
                found = compare(Path(name), load_dataset("mnist"), size, 0)
                print(f"fan-out {size}: errors by Octave and by elmlda", found)
        else:
            measure(Path(name))
