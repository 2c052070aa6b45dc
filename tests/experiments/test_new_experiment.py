"""An experiment needs options, a table, a plan and a function: the runner and the folder do the rest."""

import numpy as np
import pytest

from elmlda import load_dataset
from elmlda.experiments.runner import Plan, Result, Stage
from elmlda.experiments.specs import Experiment
from elmlda.options import number, option, whole
from elmlda.reports.load import read_records
from elmlda.reports.summary import summarise
from elmlda.runs.folder import read_rows
from elmlda.runs.tables import MACHINE, Column, Table

NORMS = Table(
    "norms",
    "a row for each network and power.",
    (
        Column("repeat", int, "", "number of the network"),
        Column("power", int, "", "power of the norm", "power"),
        Column("norm", float, "", "mean over hidden units", "mean norm"),
        MACHINE,
    ),
    key=("repeat", "power"),
    groups=("power",),
    counted="networks",
)
computed = []
"""Number of each network that was computed."""


class Norms(Experiment):
    """Mean norms of random weights for the inputs of a data set."""

    name = "norms"

    repeats: int = option(5, whole(), "Networks with new random weights.", "extent")
    scale: float = option(1.0, number(above=True), "Factor of the weights.", "experiment")

    def plan(self):
        data = load_dataset(self.dataset, **self.reading).split()
        keys = [(repeat, power) for repeat in range(self.repeats) for power in (1, 2)]

        def find_jobs(missing, _):
            return [(repeat, self.scale) for repeat in dict.fromkeys(repeat for repeat, _ in missing)]

        stage = Stage(NORMS, keys, find_jobs, compute_norms)
        return Plan(self, data, [stage], data)


def compute_norms(data, job):
    repeat, scale = job
    computed.append(repeat)
    weights = scale * np.random.default_rng(repeat).uniform(-0.5, 0.5, (50, data.n_inputs))
    norms = {power: np.linalg.norm(weights, ord=power, axis=1).mean() for power in (1, 2)}
    return Result([{"repeat": repeat, "power": power, "norm": norm} for power, norm in norms.items()])


@pytest.mark.parametrize("n_bytes", [1, 20, 30])
def test_a_torn_run_continues_and_computes_no_row_twice(tmp_path, n_bytes):
    norms, path = Norms(dataset="iris"), tmp_path / "norms.csv"
    expected = norms.run(tmp_path)
    assert len(expected) == norms.dry_run(tmp_path).n_recorded == 10
    whole = path.read_bytes()
    path.write_bytes(whole[:-n_bytes])
    n_left = len(read_rows(tmp_path, NORMS))
    computed.clear()
    assert norms.run(tmp_path).equals(expected)
    assert computed == [4]
    assert path.read_bytes() == whole
    assert n_left == (9 if n_bytes < 20 else 8)
    assert read_rows(tmp_path, NORMS).equals(expected)
    norms.run(tmp_path)
    assert computed == [4]


def test_the_run_is_read_by_reports_and_summarised(tmp_path):
    norms = Norms(dataset="iris", repeats=3, scale=2)
    rows = norms.run(tmp_path)
    run = read_records(tmp_path)
    assert run.manifest["experiments"] == {"norms": {"scale": 2.0}}
    assert run.sweep.empty
    _, *lines = summarise(NORMS, rows, beside_paper=False).splitlines()
    means = rows.groupby("power")["norm"].mean()
    assert [line.split() for line in lines] == [
        [str(power), "3", f"{mean:.4g}"] for power, mean in means.items()
    ]
