"""report(folder): what a folder holds decides, and no folder ends in a traceback."""

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from made_runs import (
    MNIST,
    PETS,
    draw_posteriors,
    draws_table,
    keep,
    make_run,
    simulate_draws,
    simulate_sweep,
    simulate_timing,
    sweep,
)

from elmlda.errors import ElmldaError
from elmlda.reports import report
from elmlda.reports.render import format_number

ROOT = Path(__file__).parents[2]
COUNTS = {1: [(72, 70, 65), (75, 74, 66), (71, 70, 64)], 2: [(50, 50, 41), (52, 50, 42), (51, 49, 40)]}


def pets(folder, counts=COUNTS, **parts):
    return make_run(folder, run=PETS, sweep=sweep(counts, n_test=1000, n_inputs=10), **parts)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of the paper's size with everything."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("whole") / "run"
    posteriors, labels = draw_posteriors(rng, 4, n_test=10_000, n_classes=10)
    rows = [(r, s, 200 - s, 10_000) for r in range(3) for s in range(1, 21)]
    ensemble = pd.DataFrame(rows, columns=["repeat", "size", "errors", "n_test"])
    tables = {"draws": simulate_draws(rng), "timing": simulate_timing(rng), "ensemble": ensemble}
    make_run(folder, sweep=simulate_sweep(rng).assign(log_loss=0.5, temperature=0.4), **tables)
    keep(folder, posteriors, labels, tempered=posteriors**0.5)
    (folder / "NOTES.md").write_text("What people say.\n\n- a `list`", "utf-8")
    inside = {**MNIST, "activation": "softsign"}
    make_run(folder / "softsign", run=inside, sweep=simulate_sweep(rng, n=40, fanouts=(1, 2, 3)))
    return report(folder)


def test_a_whole_run_answers_in_one_sentence_with_both_halves(whole):
    assert re.search(r"\b2\d of 26 rates and \d+ of 11 statements", whole.headline)
    assert whole.headline.count("p = ") == 2
    assert "nterim" not in whole.headline
    assert not whole.lines
    assert whole.verdicts["counted"].sum() == 37


def test_a_whole_run_has_every_file_and_a_small_page(whole):
    names = {path.name for path in whole.files}
    figures = "fig1 fig2 improvement times posteriors reliability confusion differences"
    tables = "table1 table2 claims agreement ensemble_table posteriors differences agreements counts"
    assert names >= {f"{name}.svg" for name in figures.split()}
    assert names >= {f"{name}.csv" for name in tables.split()}
    assert all(path.exists() for path in whole.files)
    assert (whole.folder / "report.html").stat().st_size < 700_000


def test_the_page_has_the_order_in_which_people_look(whole):
    page = (whole.folder / "report.md").read_text("utf-8")
    order = ["**Reproduced", "fig1.svg", "| 7.20 |", "## The paper's claims", "improvement.svg"]
    order += [
        "fig2.svg",
        "times.svg",
        "reliability.svg",
        "confusion.svg",
        "What people say.",
        "Abacus 7",
    ]
    places = [page.index(text) for text in order]
    assert places == sorted(places)
    assert page.count("![") == len({path for path in whole.files if path.suffix == ".svg"})


def test_a_report_is_short_to_look_at(whole):
    assert len(str(whole).splitlines()) <= 6
    assert whole.headline in repr(whole)
    assert whole._repr_html_().count("<tr") == 1 + len(whole.verdicts)


def test_the_same_rows_give_the_same_bytes(whole, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    monkeypatch.setenv("MPLBACKEND", "none such")
    copied = tmp_path / "copied"
    shutil.copytree(whole.folder, copied)
    table = pd.read_csv(copied / "sweep.csv").sample(frac=1, random_state=0)
    table.to_csv(copied / "sweep.csv", index=False)  # rows come in any order
    for path in report(copied).files:
        assert path.read_bytes() == (whole.folder / path.name).read_bytes(), path.name
    text = (copied / "report.html").read_text("utf-8")
    assert not re.search(r"\b20[2-9]\d-\d\d-\d\d|dc:date", text)


def test_a_run_that_is_being_made_is_interim(tmp_path):
    table = simulate_sweep(np.random.default_rng(1), n=34)
    torn = make_run(tmp_path / "run", sweep=table)
    with (torn / "sweep.csv").open("a") as file:
        file.write("34,,784,1,fixed,0,7")  # the writer is in the middle of a line
    made = report(torn, ["md"])
    assert made.headline.startswith("Interim, 34 of 200 networks")
    assert len(made.lines) == 1  # what was not run is one line
    assert "Table 2 (1)" in made.lines[0]
    page = (torn / "report.md").read_text("utf-8")
    assert "log LR" not in page  # the hypothesis is judged by the whole run


def test_the_headline_of_a_short_run_says_how_much_is_inconclusive(tmp_path):
    made = report(
        make_run(tmp_path / "run", sweep=simulate_sweep(np.random.default_rng(1), n=3)), ["md"]
    )
    n_open = (made.verdicts.query("counted")["verdict"] == "inconclusive").sum()
    assert n_open > 0
    assert f"inconclusive so far: {n_open};" in made.headline


def test_the_hypothesis_is_judged_by_the_registered_run_alone(tmp_path):
    table = simulate_sweep(np.random.default_rng(5))
    for seed, is_judged in ((0, False), (1, True)):
        folder = make_run(tmp_path / str(seed), run={**MNIST, "seed": seed}, sweep=table)
        report(folder, ["md"])
        assert ("log LR" in (folder / "report.md").read_text("utf-8")) == is_judged


def test_green_means_good(tmp_path):
    rng, tones = np.random.default_rng(2), []
    shifts = ({"n": 200}, {"n": 5}, {"n": 200, "pi_shift": 0.5})
    for i, options in enumerate(shifts):
        folder = make_run(tmp_path / str(i), sweep=simulate_sweep(rng, **options))
        report(folder, ["html"])
        tones += re.findall(r'class="headline (\w+)"', (folder / "report.html").read_text("utf-8"))
    assert tones == ["good", "open", "bad"]


def test_other_data_have_their_result_as_headline_and_nothing_of_the_papers(tmp_path):
    folder = pets(tmp_path / "run")
    posteriors, labels = draw_posteriors(np.random.default_rng(3), 3, n_test=1000)
    keep(folder, posteriors, labels)
    made = report(folder)
    assert made.headline == "LDA-ELM 4.1 %, PI-ELM 5.1 % at 20 hidden units"
    assert made.verdicts.empty
    assert (folder / "confusion.svg").exists()
    assert not (folder / "claims.csv").exists()
    page = (folder / "report.md").read_text("utf-8")
    for word in ("paper", "Table 1", "7.20", "MNIST"):
        assert word not in page
    assert "class 3" in (folder / "report.html").read_text("utf-8")


def test_tables_of_two_runs_have_the_same_columns(whole, tmp_path):
    folder = pets(tmp_path / "run")
    report(folder, ["csv"])
    ours, theirs = (pd.read_csv(f / "table1.csv") for f in (folder, whole.folder))
    assert ours.columns.tolist() == theirs.columns.tolist()


@pytest.mark.parametrize(
    "counts",
    [
        {1: [(7, 7, 6)]},  # one record
        {1: [(7, 7, 6)] * 2},  # no interval from two
        {1: [(7, 7, 6)] * 4},  # no spread
        {1: [(7, 7, None)] * 4, 2: [(5, 5, 4)] * 4},  # no LDA at one size
        {1: [(7, 7, None)] * 3},  # no LDA at all
        {1: [(0, 0, 0)] * 3},  # no errors at all
        {0.5: [(9, 9, 8)] * 3, 1: [(7, 7, 6)] * 4, 30: [(1, 1, 1)] * 3},  # sizes that the paper lacks
    ],
)
@pytest.mark.parametrize("run", [MNIST, PETS])
def test_odd_runs_have_a_report_with_gaps(tmp_path, counts, run):
    folder = make_run(tmp_path / "run", run=run, sweep=sweep(counts, n_test=100))
    made = report(folder)
    assert made.headline
    assert "nan" not in (folder / "report.md").read_text("utf-8")
    assert pd.read_csv(folder / "table1.csv")["repeats"].tolist() == [len(c) for c in counts.values()]


@pytest.mark.parametrize("name", ["draws", "timing", "ensemble"])
def test_a_run_without_a_sweep_has_a_report(tmp_path, name):
    rng = np.random.default_rng(4)
    posteriors, labels = draw_posteriors(rng, 6)
    row = {"repeat": [0], "size": 1, "errors": 9, "n_test": 99}
    tables = {"draws": draws_table(posteriors, labels, 50, 3), "ensemble": pd.DataFrame(row)}
    tables["timing"] = simulate_timing(rng, pairs=3)
    some = {key: tables[key] for key in {name, "ensemble" if name == "draws" else name}}
    for run in (MNIST, PETS):
        assert report(make_run(tmp_path / run["dataset"], run=run, **some)).files


def refuse(folder, *words, **options):
    with pytest.raises(ElmldaError) as caught:
        report(folder, **options)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message
    return message


def test_what_is_no_run_is_one_clear_line(tmp_path):
    refuse(tmp_path / "none such", "none such")
    refuse(tmp_path, "no run")
    refuse(make_run(tmp_path / "a"), "no rows")
    refuse(tmp_path, "1 runs")
    refuse(pets(tmp_path / "b"), "pdf", formats=["pdf"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.json", "{"),
        ("manifest.json", '{"schema": 4}'),
        (
            "manifest.json",
            '{"schema": 4, "run": [], "experiments": {}, "commands": [], "machines": []}',
        ),
        ("manifest.json", '{"schema": 3}'),
        ("manifest.json", b"\xff\xfe"),
        ("sweep.csv", "a,b\n1,2\n"),
        ("sweep.csv", b"\x00\xff\n"),
        ("kept/test.npz", b"PK"),
    ],
)
def test_broken_files_are_named(tmp_path, name, content):
    folder = pets(tmp_path / "run")
    (folder / "kept").mkdir()
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    refuse(folder, name.rpartition("/")[2])


def test_a_bad_number_or_a_second_row_of_a_network_is_refused(tmp_path):
    folder = pets(tmp_path / "run")
    text = (folder / "sweep.csv").read_text()
    (folder / "sweep.csv").write_text(text + text.splitlines()[1] + "\n")
    refuse(folder, "line 8")
    (folder / "sweep.csv").write_text(text.replace(",72,", ",many,"))
    refuse(folder, "sweep.csv", "many")


def test_a_folder_that_can_not_be_written_is_one_line(tmp_path):
    folder = pets(tmp_path / "run")
    (folder / "table1.csv").mkdir()
    refuse(folder, "table1.csv", "unchanged")
    assert not list(folder.glob(".*"))


def test_runs_that_differ_in_a_setting_are_compared(tmp_path):
    for i, activation in enumerate(("tanh", "softsign", "logistic")):
        rng = np.random.default_rng(i)
        table = simulate_sweep(rng, n=12, fanouts=(1, 2, 3), pi_shift=i)
        make_run(tmp_path / activation, run={**MNIST, "activation": activation}, sweep=table)
    made = report(tmp_path)
    assert "activation" in made.headline
    table = pd.read_csv(tmp_path / "differences.csv")
    assert set(table.loc[table["difference"].notna(), "reference"]) == {"logistic"}  # first of equals
    assert (tmp_path / "differences.svg").exists()
    assert "T |" in (tmp_path / "report.md").read_text("utf-8")  # joint agreement with Table 1


def test_data_sets_are_compared_and_an_empty_one_is_named(tmp_path):
    for name in ("ants", "bees"):
        table = sweep(COUNTS, n_test=1000, n_inputs=10)
        make_run(tmp_path / name, run={"dataset": name, "sha256": {"x": name}}, sweep=table)
    make_run(tmp_path / "cats", run=PETS)
    made = report(tmp_path)
    assert made.headline.startswith("Of 4 cells on 2 data sets, LDA-ELM has fewer errors in 4")
    assert "cats" in made.lines[0]
    assert (tmp_path / "ranks.csv").exists()
    shutil.rmtree(tmp_path / "bees")
    (tmp_path / "ranks.csv").unlink()
    assert report(tmp_path).headline.startswith("Of 2 cells on 1 data set,")
    assert not (tmp_path / "ranks.csv").exists()


def test_runs_without_a_size_in_common_have_gaps(tmp_path):
    for name, fanout in (("a", 1), ("b", 2)):
        run = {**PETS, "bias": name == "b"}
        make_run(tmp_path / name, run=run, sweep=sweep({fanout: COUNTS[1]}, n_test=1000, n_inputs=10))
    assert "bias" in report(tmp_path).headline


def test_names_can_do_no_harm(tmp_path):
    evil = "<script>alert(1)</script>|`*_\x1b[31m$x$"
    run = {"dataset": evil, "sha256": {"x": "y"}, "activation": evil}
    folder = make_run(tmp_path / "run", run=run, commands=[evil], sweep=sweep(COUNTS, n_test=1000))
    report(folder)
    for name in ("report.html", "report.md"):
        lines = (folder / name).read_text("utf-8").splitlines()
        text = "\n".join(line for line in lines if not line.startswith("    "))  # code in Markdown
        assert not re.search(r"(?<!\\)<script", text)
        assert "\x1b" not in "".join(lines)


def test_png_can_be_asked_for(tmp_path):
    made = report(pets(tmp_path / "run"), ["png"])
    assert {path.suffix for path in made.files} == {".png"}
    assert made.files[0].read_bytes().startswith(b"\x89PNG")


def test_figures_have_one_svg_for_light_and_dark(tmp_path):
    folder = pets(tmp_path / "run")
    report(folder, ["svg"])
    svg = (folder / "fig1.svg").read_text("utf-8")
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"  # a viewer can read it
    assert "prefers-color-scheme:dark" in svg
    body = svg.partition("</style>")[2]
    assert not set(re.findall(r"#[0-9a-f]{6}\b", body))  # every colour is a variable


REPORTED = [ROOT / "results" / name for name in ("choices", "compare", "first-run", "paper")]
"""Reports that come with elmlda; there may be others of the user's."""


@pytest.mark.parametrize("folder", REPORTED, ids=lambda path: path.name)
def test_committed_tables_and_pages_are_what_the_rows_say(folder, tmp_path):
    copied = tmp_path / folder.name
    shutil.copytree(folder, copied)
    for path in report(copied, ["csv", "md"]).files:
        assert path.read_text("utf-8") == (folder / path.name).read_text("utf-8"), path.name
    assert json.loads((next(copied.rglob("manifest.json"))).read_text())["schema"] == 4


def test_the_committed_posteriors_are_what_the_rows_say(tmp_path):
    folder, copied = ROOT / "results/posteriors", tmp_path / "posteriors"
    shutil.copytree(folder, copied)
    report(copied, ["csv"])
    assert (copied / "posteriors.csv").read_text() == (folder / "posteriors.csv").read_text()


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (-1.25, "+.2f", "−1.25"),
        (1.25, "+.2f", "+1.25"),
        (-0.001, ".2f", "0.00"),
        (6e-6, ".2g", "6e−06"),
    ],
)
def test_a_number_has_a_minus_sign(value, form, shown):
    assert format_number(value, form) == shown
