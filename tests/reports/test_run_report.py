"""elmlda report: true of whatever a run has, and the same records give the same files."""

import re
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_up import (
    ensemble_records,
    make_run,
    mistake_records,
    pair_records,
    sweep_records,
    timing_records,
)
from matplotlib import image
from simulated import simulate_run

from elmlda.datasets import load_dataset
from elmlda.experiments.ensemble import MistakeRecord
from elmlda.reports.claims.rule import Kind
from elmlda.reports.gaps import find_gaps
from elmlda.reports.provenance import describe_machine, find_provenance
from elmlda.reports.records import read_run
from elmlda.reports.subjects.ensemble import count_confusion
from elmlda.reports.write import report

RATES = {1: [(7.2, 6.9), (7.1, 6.8), (7.3, 6.7)], 2: [(5.2, 5.0)] * 3, 11: [(2.5, 2.6), (2.5, 2.4)]}
SIZES = {1: [2.1, 2.0, 2.2], 2: [1.9, 1.8, 1.85], 20: [1.69, 1.7, 0.05]}
SECONDS = {1: [(1.0, 1.1, 1.2)] * 3, 11: [(20.0, 20.5, 21.0)]}
PLANNED = {
    "sweep": {"repeats": 3, "n_hidden": [784, 1568, 8624]},
    "ensemble": {"repeats": 3, "combine": ["mean"], "n": 20, "n_hidden": 15680},
    "timing": {"repeats": 3, "n_hidden": [784, 8624], "threads": 2, "chunk": 4000},
}


def figures(*stems):
    return {f"{stem}.{suffix}" for stem in stems for suffix in ("png", "svg")}


FILES = {
    "sweep": {"table1.csv", "table1_as_printed.csv"}
    | figures("fig1", "improvement", "distance", "spread"),
    "ensemble": {"ensemble_table.csv"} | figures("fig2", "confusion", "mistakes"),
    "timing": {"table2.csv", "table2_as_printed.csv"} | figures("times"),
    "always": {"claims.csv", "report.md", "report.html"},
}


@pytest.fixture(scope="module")
def labels():
    return load_dataset("mnist").test.labels


@pytest.fixture(scope="module")
def records(labels):
    """Every experiment's records; the best ensemble, of repeat 2, makes five mistakes."""
    return {
        "sweep": sweep_records(RATES),
        "ensemble": ensemble_records(SIZES),
        "pairs": pair_records([1.86, 1.88]),
        "mistakes": mistake_records(5, repeat=2, labels=labels),
        "timing": timing_records(SECONDS),
    }


@pytest.fixture(scope="module")
def full(records, tmp_path_factory):
    folder = make_run(tmp_path_factory.mktemp("full") / "run", experiments=PLANNED, **records)
    return report(folder)


def names(written):
    return {path.name for path in written.paths}


def pages(folder):
    return (folder / "report.md").read_text() + (folder / "report.html").read_text()


def shown(folder):
    """The page's text, without the figures that it carries."""
    return re.sub(r"base64,[A-Za-z0-9+/=]+", "", pages(folder))


def test_everything_is_written(full):
    assert names(full) == set().union(*FILES.values())
    assert all(path.stat().st_size > 0 for path in full.paths)


def test_tables_have_the_numbers(full):
    folder = full.folder
    table = pd.read_csv(folder / "table1.csv").set_index("fanout")
    assert list(table.index) == [1, 2, 11]
    assert list(table["repeats"]) == [3, 3, 2]
    assert table.loc[1, "pi_error_percent"] == pytest.approx(7.2)
    assert table.loc[1, "lda_error_percent"] == pytest.approx(6.8)
    assert table.loc[1, "improvement_percent"] == pytest.approx(100 * 0.4 / 7.2, rel=1e-5)
    assert table.loc[1, "paper_pi_error_percent"] == 7.20
    assert pd.isna(table.loc[11, "paper_pi_error_percent"])
    times = pd.read_csv(folder / "table2.csv").set_index("fanout")
    assert times.loc[1, "overhead_percent"] == pytest.approx(10, rel=1e-4)  # of records with six digits
    assert times.loc[11, "one_pass_overhead_percent"] == pytest.approx(5, rel=1e-4)
    assert times.loc[11, "both_seconds"] == 21
    ensemble = pd.read_csv(folder / "ensemble_table.csv").set_index("size")
    assert ensemble.loc[2, "error_percent"] == pytest.approx(1.85)
    claims = pd.read_csv(folder / "claims.csv").set_index("key")
    assert len(claims) == 16 + 2 + 5 + 5 * 13
    assert claims.loc["ensemble-2", "ours"] == pytest.approx(1.87)
    assert claims.loc["ensemble-20", "repeats"] == 3
    first = (folder / "table1.csv").read_text().splitlines()[1]
    assert first.startswith("1,784,3,7.2,")


def test_the_pages_have_the_numbers(full):
    for text in ((full.folder / name).read_text() for name in ("report.md", "report.html")):
        for number in (
            "7.20 ± 0.25",
            "6.80",
            "8,624",
            "best ensemble of 20 (mean): 5 errors of 10,000",
        ):
            assert number in text.replace("\\", ""), number


@pytest.mark.parametrize("experiment", ["sweep", "ensemble", "timing"])
@pytest.mark.parametrize("n_repeats", [1, 3])
def test_part_of_a_run_gives_a_true_part(records, tmp_path, experiment, n_repeats):
    part = {
        name: [record for record in records[name] if record.repeat < n_repeats]
        for name in (experiment, *(["mistakes"] if experiment == "ensemble" else []))
    }
    written = report(make_run(tmp_path / "run", experiments=PLANNED, **part))
    expected = FILES[experiment] | FILES["always"]
    if experiment == "sweep" and n_repeats == 1:  # without a spread there is no distance
        expected -= figures("distance")
    if experiment == "ensemble" and n_repeats == 1:  # its mistakes are of repeat 2
        expected -= figures("confusion", "mistakes")
        assert "What the best ensemble gets wrong is not recorded" in pages(tmp_path / "run")
    assert names(written) == expected
    missing = {
        "sweep": "The sweep has not been run: no Table 1, no Fig. 1.",
        "ensemble": "The ensemble has not been run: no Fig. 2.",
        "timing": "Times have not been measured: no Table 2.",
    }
    text = shown(tmp_path / "run")
    for name, sentence in missing.items():
        assert (text.count(sentence) == 2) == (name != experiment)
    assert not re.search(r"\bnan\b|\binf\b", text, re.IGNORECASE)
    for path in (tmp_path / "run").glob("*.csv"):
        assert "nan" not in path.read_text().lower()


def test_an_unfinished_run_says_so(full):
    text = shown(full.folder)
    for sentence in (
        "The sweep has 8 of 9 planned results.",
        "Fan-outs 3-10,12-20 have not been run.",
        "Fan-outs have 2 repeats so far; the paper has 200.",
        "The ensemble has 3 repeats so far; the paper has 10.",
        "Two networks are judged on 2 pairs so far; 90 are needed.",
        "Table 2 has 12 of 18 planned timings.",
        "Fan-outs 2-10,12-20 have not been timed.",
    ):
        assert text.count(sentence) == 2, sentence


def test_how_to_make_it_again(full):
    """The commands as they were typed, each once, and those of the sweep inside the folder."""
    typed = ["elmlda sweep --fanout 1,2,11 --repeats 3", "elmlda ensemble --combine mean"]
    run = read_run(full.folder)
    run = replace(run, manifest={**run.manifest, "commands": [*typed, typed[0]]})
    assert find_provenance(run).commands == [*typed, "elmlda report"]


def test_departures_are_named(records, tmp_path):
    report(make_run(tmp_path / "run", run={"ridge": 0.5}, sweep=records["sweep"]))
    assert "ridge 0.5 (the paper: 0.0)" in shown(tmp_path / "run")


def test_the_same_records_give_the_same_bytes(full, records, tmp_path):
    """Also in another process, elsewhere, with records in another order."""
    backwards = {name: rows[::-1] for name, rows in records.items()}
    folder = make_run(tmp_path / "elsewhere", experiments=PLANNED, **backwards)
    program = "import sys; from elmlda import report; report(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, folder], check=True)
    for path in full.paths:
        assert (folder / path.name).read_bytes() == path.read_bytes(), path.name


def test_other_data_are_not_held_against_the_paper(records, tmp_path):
    run = {"dataset": "mine", "sha256": {"train-images": "ab"}}
    written = report(make_run(tmp_path / "run", run=run, experiments=PLANNED, **records))
    assert written.report.claims == []
    assert not {"claims.csv", "table1_as_printed.csv", "confusion.png"} & names(written)
    text = shown(tmp_path / "run")
    assert "Not the paper's data" in text.replace("&#39;", "'")
    assert "7.20" not in (tmp_path / "run/fig1.svg").read_text()
    assert "the paper" not in (tmp_path / "run/fig1.svg").read_text()
    assert "The data are not of the catalogue" in text


def test_an_ensemble_of_other_networks_is_not_held_against_fig_2(records, tmp_path):
    plan = {"ensemble": {"repeats": 3, "combine": ["mean"], "n": 20, "n_hidden": 784}}
    written = report(make_run(tmp_path / "run", experiments=plan, **records))
    claims = {claim.key: claim for claim in written.report.claims}
    assert claims["ensemble-1"].because == "not run yet"
    assert "the paper" not in (tmp_path / "run/fig2.svg").read_text()


def test_names_are_escaped(records, tmp_path):
    evil = "<script>alert(1)</script>|**x**"
    run = {"dataset": evil, "sha256": {"<img src=x>": "ab"}, "activation": "<b>tanh</b>"}
    report(make_run(tmp_path / "run", run=run, experiments=PLANNED, **records))
    page = (tmp_path / "run/report.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<img src=x>" not in page
    assert "<b>tanh" not in page
    markdown = (tmp_path / "run/report.md").read_text()
    assert "\\<script\\>alert(1)\\</script\\>\\|\\*\\*x\\*\\*" in markdown


def test_the_page_needs_nothing_else(full):
    page = (full.folder / "report.html").read_text()
    addresses = re.findall(r"""(?:src|href|srcset)=["']([^"']*)""", page)
    assert addresses
    assert all(address.startswith(("data:", "#")) for address in addresses)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttp", re.sub(r"base64,[^\"]+", "", page))


def test_several_schemes_stand_side_by_side(records, tmp_path):
    schemes = records["ensemble"] + ensemble_records({1: [2.1, 2.0, 2.2], 2: [1.7] * 3}, "vote")
    report(make_run(tmp_path / "run", experiments=PLANNED, ensemble=schemes))
    markdown = (tmp_path / "run/report.md").read_text()
    assert "| Networks | mean, % | repeats | vote, % | repeats | paper (mean) |" in markdown
    assert "| 20 | 1.15 ± 2.36 | 3 |  |  | 1.69 |" in markdown


def test_figures_are_readable_at_column_width(full):
    for name in (
        "fig1", "fig2", "improvement", "distance", "spread", "confusion", "mistakes", "times",
    ):  # fmt: skip
        pixels = image.imread(full.folder / f"{name}.png")
        assert pixels.shape[1] >= 1000
        assert np.ptp(pixels[..., :3]) > 0.5


def test_a_sweep_as_large_as_the_papers_lacks_nothing(tmp_path):
    rates = {fanout: [(2.0, 1.9)] * 200 for fanout in range(1, 21)}
    planned = {"sweep": {"repeats": 200, "n_hidden": [784 * fanout for fanout in rates]}}
    run = read_run(make_run(tmp_path / "run", experiments=planned, sweep=sweep_records(rates)))
    assert not [gap for gap in find_gaps(run) if "repeat" in gap or "Fan-outs" in gap]


def test_data_that_went_away_do_not_stop_a_report(records, tmp_path):
    """Fetched once, and not here any more."""
    run = {"dataset": "kmnist", "sha256": {"a": "b"}}
    made = make_run(
        tmp_path / "run", run=run, ensemble=records["ensemble"], mistakes=records["mistakes"]
    )
    assert read_run(made).dataset is None
    assert report(made, ("md",)).paths


def test_a_machine_from_another_hand():
    assert describe_machine("a laptop") == "a laptop"


def test_confusion_counts():
    labels = np.array([0, 0, 1, 1, 1, 2])
    mistakes = [
        MistakeRecord(0, 2, "mean", 1, 0, 2, 0.9, 0.1),
        MistakeRecord(0, 2, "mean", 5, 2, 1, 0.9, 0.1),
    ]
    np.testing.assert_array_equal(
        count_confusion(mistakes, labels, 3), [[1, 0, 1], [0, 3, 0], [0, 1, 0]]
    )


def test_the_best_ensemble_is_the_one_with_the_fewest_errors(records, tmp_path):
    run = read_run(make_run(tmp_path / "run", **records))
    assert run.best_ensemble == (2, 20, "mean")
    assert len(run.best_mistakes()) == 5
    tied = records["ensemble"] + ensemble_records({20: [1.0, 0.05]}, combine="max")
    assert read_run(make_run(tmp_path / "tied", ensemble=tied)).best_ensemble == (2, 20, "mean")


@pytest.mark.slow
def test_two_hundred_repeats_take_less_than_fifteen_seconds(tmp_path, labels):
    """All records of a run of the paper's size; and the same bytes once more."""
    run = simulate_run(np.random.default_rng(0))
    best = min((r for r in run["ensemble"] if r.size == 20), key=lambda record: record.errors)
    run["mistakes"] = mistake_records(best.errors, repeat=best.repeat, labels=labels)
    plan = {"ensemble": {"n": 20, "n_hidden": 15680}}
    folder = make_run(tmp_path / "run", experiments=plan, **run)
    start = time.process_time()  # it has one thread, and other tests run beside it
    written = report(folder)
    assert time.process_time() - start < 15
    first = {path: path.read_bytes() for path in written.paths}
    assert {path: path.read_bytes() for path in report(folder).paths} == first
    assert not any(claim.interim for claim in written.report.claims)
    rates = [claim for claim in written.report.claims if claim.kind == Kind.RATE]
    assert {claim.verdict for claim in rates} == {"reproduced"}


def test_control_characters_reach_no_page(records, tmp_path):
    """An escape sequence would colour a terminal, and NUL is no XML."""
    run = {"dataset": "a\x1b[31m\x00" + "long" * 40, "sha256": {"x\x07y": "ab"}, "priors": "\x1b]0;"}
    report(make_run(tmp_path / "run", run=run, sweep=records["sweep"]))
    for path in (tmp_path / "run").glob("report.*"):
        text = path.read_text()
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text), path.name
        assert "x1b[31m" in text.replace("\\", ""), path.name
    assert len((tmp_path / "run/report.md").read_text().splitlines()[0]) < 120
