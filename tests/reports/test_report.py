"""Reports of whole, partial, odd and broken folders."""

import os
import re
import shutil
import subprocess
import sys
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
from elmlda.reports import plot, report
from elmlda.reports.render import format_number, read_words, show

ROOT = Path(__file__).parents[2]
COUNTS = {1: [(72, 70, 65), (75, 74, 66), (71, 70, 64)], 2: [(50, 50, 41), (52, 50, 42), (51, 49, 40)]}


def pets(folder, counts=COUNTS, run=PETS, **parts):
    rows = sweep(counts, n_test=1000, n_inputs=10, log_loss=0.5)
    return make_run(folder, run=run, sweep=rows, **parts)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Report on a run of the paper's size with every experiment."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("whole") / "run"
    posteriors, labels = draw_posteriors(rng, 4, n_test=10_000, n_classes=10)
    rows = [(r, s, 200 - s, 10_000) for r in range(3) for s in range(1, 21)]
    ensemble = pd.DataFrame(rows, columns=["repeat", "size", "errors", "n_test"])
    tables = {"draws": simulate_draws(rng), "timing": simulate_timing(rng), "ensemble": ensemble}
    make_run(folder, sweep=simulate_sweep(rng).assign(log_loss=0.5, temperature=0.4), **tables)
    keep(folder, posteriors, labels, tempered=posteriors**0.5)
    (folder / "NOTES.md").write_text("What people say.\n\n- a `list`", "utf-8")
    return report(folder)


def test_a_whole_run_says_what_came_out_beside_the_paper(whole):
    assert re.findall(r"\d+\.\d %", whole.headline)[1] == "3.1 %"
    assert "all 20 fan-outs" in whole.headline
    assert not whole.page.missing
    assert "26" in whole.page.result[-1]
    assert pd.read_csv(whole.folder / "claims.csv")["counted"].sum() == 37
    assert whole.headline in str(whole)
    assert len(str(whole).splitlines()) <= 6


def test_a_whole_run_has_every_file_and_a_small_page(whole):
    names = {path.name for path in whole.files}
    figures = "fig1 fig2 posteriors reliability confusion"
    tables = "table1 table2 table1_details table2_details claims ensemble_table posteriors"
    assert names >= {f"{name}.svg" for name in figures.split()}
    assert names >= {f"{name}.csv" for name in tables.split()}
    assert all(path.exists() for path in whole.files)
    assert (whole.folder / "report.html").stat().st_size < 700_000
    page = (whole.folder / "report.md").read_text("utf-8")
    assert page.count("![") == len(figures.split())
    for text in ("7.20", "What people say.", "Abacus 7"):  # the paper's, the notes, the machine
        assert text in page


def test_a_notebook_shows_the_result_the_figures_and_the_tables(whole):
    html = whole._repr_html_()
    assert html.count("<img") == 4
    assert html.count("<table") == 3
    assert whole.headline.partition(".")[0] in html
    assert "<script" not in html


def test_the_same_rows_give_the_same_bytes(whole, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    copied = tmp_path / "copied"
    shutil.copytree(whole.folder, copied)
    table = pd.read_csv(copied / "sweep.csv").sample(frac=1, random_state=0)
    table.to_csv(copied / "sweep.csv", index=False)  # rows come in any order
    for path in report(copied).files:
        assert path.read_bytes() == (whole.folder / path.name).read_bytes(), path.name
    text = (copied / "report.html").read_text("utf-8")
    assert not re.search(r"\b20[2-9]\d-\d\d-\d\d|dc:date", text)


def test_a_run_in_progress_says_what_is_missing_and_how_to_go_on(tmp_path):
    table = simulate_sweep(np.random.default_rng(1), n=3, fanouts=(1, 2, 3))
    command = "elmlda sweep --fanout=1-3 --repeats 3 --seed 5 --jobs 2 --out 'my run'"
    torn = make_run(tmp_path / "run", sweep=table, commands=[command])
    with (torn / "sweep.csv").open("a") as file:
        file.write("3,,784,1,fixed,0,7")  # the writer is in the middle of a line
    partial = report(torn, ["csv", "md"])
    assert "3 networks" in partial.headline
    assert list(partial.page.missing.values()) == [
        "elmlda sweep --fanout 1-20 --repeats 200 --seed 5 --jobs 2 --out 'my run'",
        "elmlda ensemble --seed 5 --out 'my run'",
        "elmlda timing --seed 5 --out 'my run'",
    ]
    text = (torn / "report.md").read_text("utf-8").partition("## How")[0]
    assert "of 26 reproduced" not in text
    claims = pd.read_csv(torn / "claims.csv")
    assert set(claims["verdict"]) == {"too few networks", "not run yet"}
    assert set(claims.loc[claims["kind"] == "rate", "needed"]) == {20}


def test_other_data_have_their_result_and_no_number_of_the_papers(tmp_path):
    baselines = pd.DataFrame({"method": ["logistic_regression"], "errors": [55], "n_test": [1000]})
    folder = pets(tmp_path / "run", baselines=baselines)
    result = report(folder)
    assert re.findall(r"\d+\.?\d*", result.headline) == ["20", "4.10", "5.10"]
    assert re.findall(r"\d+\.?\d*", result.page.result[2]) == ["5.50"]
    assert not (folder / "claims.csv").exists()
    page = (folder / "report.md").read_text("utf-8")
    for word in ("the paper", "Table 1", "7.20", "MNIST", "pixels"):
        assert word not in page
    assert "| logistic regression | 5.50 |" in page


def test_figures_can_be_changed_in_python(tmp_path):
    folder = pets(tmp_path / "run")
    figure = plot(folder, "fig1")
    rates = figure.axes[0]
    assert rates.get_lines()[0].get_ydata().tolist() == pytest.approx([7.2667, 5.1], abs=1e-4)
    assert plot(folder).get_size_inches()[0] == 3.5
    with pytest.raises(ElmldaError) as caught:
        plot(folder, "fig3")
    assert "fig1" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_page_states_every_option_of_the_networks_defaults_too(tmp_path):
    folder = pets(tmp_path / "run", run=PETS | {"input_weights": "constrained"})
    report(folder, "md")
    page = (folder / "report.md").read_text("utf-8")
    for option in ("input weights: constrained", "weight norm: 2.0", "min field: 10"):
        assert option in page
    report(pets(tmp_path / "uniform"), "md")
    assert "min field" not in (tmp_path / "uniform/report.md").read_text("utf-8")  # it has no effect


def test_each_claim_shows_the_region_that_decides_its_verdict(whole):
    lines = (whole.folder / "report.md").read_text("utf-8").splitlines()
    claims = pd.read_csv(whole.folder / "claims.csv").query("counted and kind == 'statement'")
    for claim in claims.itertuples():
        line = next(line for line in lines if line.startswith("- ") and claim.claim in line)
        borders = [b for b in (claim.region_low, claim.region_high) if np.isfinite(b) and b > -100]
        shown = [float(text) for text in re.findall(r"\d+\.?\d*", line.partition("region")[2])]
        assert shown[: len(borders)] == pytest.approx(borders, abs=6e-4)


def test_all_sizes_of_ensembles_are_folded_and_some_are_not(whole):
    shown, folded = (
        re.findall(r"^\| (\d+) \|", part, re.MULTILINE)
        for part in (whole.folder / "report.md").read_text("utf-8").partition("## Several")[2]
        .partition("## Comp")[0].split("<details>")
    )  # fmt: skip
    assert shown == ["1", "2", "5", "10", "20"]
    assert folded == [str(size) for size in range(1, 21)]


def test_folded_parts_have_different_titles(whole):
    for name in ("report.md", "report.html"):
        titles = re.findall("<summary>(.*)</summary>", (whole.folder / name).read_text("utf-8"))
        assert len(set(titles)) == len(titles) == 6


def test_the_choice_of_the_set_up_is_stated_beside_the_papers_numbers_only(whole, tmp_path):
    other = make_run(tmp_path / "run", run=MNIST | {"activation": "softsign"}, sweep=sweep(COUNTS))
    report(other, "md")
    note = read_words()["paper_notes"]["claims"]
    assert note in (whole.folder / "report.md").read_text("utf-8")
    assert note not in (other / "report.md").read_text("utf-8")


def test_terms_are_explained_below_the_tables_that_show_them():
    row = {"networks": 1, "repeats": 165, "log_loss": 0.5, "log_loss_interval": 0.1}
    single, terms = pd.DataFrame([row]), read_words()["terms"]
    table = show(single, "posteriors", by_fanout=True)
    assert table.columns.tolist() == ["Networks", "Log-loss"]
    assert table.attrs["terms"] == terms["Log-loss"]
    table = show(pd.concat([single, single.assign(networks=2)]), "posteriors", by_fanout=True)
    assert table["Networks combined"].tolist() == ["1", "2"]
    assert terms["Networks combined"] in table.attrs["terms"]


def test_tables_of_two_runs_have_the_same_columns(whole, tmp_path):
    folder = pets(tmp_path / "run")
    report(folder, ["csv"])
    ours, theirs = (pd.read_csv(f / "table1_details.csv") for f in (folder, whole.folder))
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
    assert report(folder).headline
    assert not re.search(r"\bnan\b", (folder / "report.md").read_text("utf-8"))
    assert pd.read_csv(folder / "table1_details.csv")["repeats"].tolist() == [
        len(c) for c in counts.values()
    ]


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
    if name == "draws":
        refuse(make_run(tmp_path / "gone", draws=some["draws"], timing=tables["timing"]), "draws.csv")


def refuse(folder, *words, **options):
    with pytest.raises(ElmldaError) as caught:
        report(folder, **options)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message
    return message


def test_folders_without_a_run_are_refused_in_one_line(tmp_path):
    refuse(tmp_path / "none such", "none such")
    refuse(tmp_path, str(tmp_path))
    refuse(make_run(tmp_path / "a"), str(tmp_path / "a"))
    refuse(tmp_path, "1 runs")
    refuse(pets(tmp_path / "b"), "bmp", formats=["bmp"])
    refuse(tmp_path / "b", "bmp", formats="bmp")


def test_a_folder_at_home_and_one_format(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    pets(tmp_path / "run")
    made = report("~/run", "csv")
    assert {path.suffix for path in made.files} == {".csv"}
    assert all(path.parent == tmp_path / "run" for path in made.files)


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
    refuse(folder, "table1.csv")
    assert not list(folder.glob(".*"))


def test_several_runs_are_compared_and_an_empty_one_is_named(tmp_path):
    for name in ("ants", "bees"):
        table = sweep(COUNTS, n_test=1000, n_inputs=10)
        make_run(tmp_path / name, run={"dataset": name, "sha256": {"x": name}}, sweep=table)
    make_run(tmp_path / "cats", run=PETS)
    comparison = report(tmp_path)
    assert re.findall(r"\d+", comparison.headline)[:2] == ["4", "4"]  # LDA-ELM is better in all cells
    assert "cats" in comparison.page.result[-1]
    shutil.rmtree(tmp_path / "bees")
    assert re.findall(r"\d+", report(tmp_path).headline)[:2] == ["2", "2"]


def test_runs_without_a_size_in_common_have_a_page(tmp_path):
    for name, fanout in (("a", 1), ("b", 2)):
        run = {**PETS, "bias": name == "b"}
        make_run(tmp_path / name, run=run, sweep=sweep({fanout: COUNTS[1]}, n_test=1000, n_inputs=10))
    assert report(tmp_path).files


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


def test_a_notebooks_backend_that_is_missing_does_no_harm(tmp_path):
    folder = pets(tmp_path / "run")
    command = [sys.executable, "-m", "elmlda", "report", str(folder), "--format", "svg"]
    environment = {**os.environ, "MPLBACKEND": "module://no_such_notebook"}
    subprocess.run(command, env=environment, check=True, capture_output=True)
    assert (folder / "fig1.svg").exists()


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_other_formats_can_be_asked_for(tmp_path, suffix, start):
    files = report(pets(tmp_path / "run"), [suffix]).files
    assert {path.suffix for path in files} == {f".{suffix}"}
    assert files[0].read_bytes().startswith(start)


def test_figures_have_one_svg_for_light_and_dark(tmp_path):
    folder = pets(tmp_path / "run")
    report(folder, ["svg"])
    svg = (folder / "fig1.svg").read_text("utf-8")
    texts = re.findall("<text[^>]*>([^<]*)</text>", svg)
    assert {"10", "20"} <= set(texts)  # plain text on a logarithmic axis too
    assert min(map(float, re.findall(r"font-size: ([\d.]+)px", svg))) >= 9
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"  # a viewer can read it
    assert "prefers-color-scheme:dark" in svg
    body = svg.partition("</style>")[2]
    assert not set(re.findall(r"#[0-9a-f]{6}\b", body))  # every colour is a variable


COMMITTED = ("compare", "first-run", "paper", "posteriors")


@pytest.mark.parametrize("name", COMMITTED)
def test_committed_tables_and_pages_are_computed_from_the_rows(name, tmp_path):
    folder = ROOT / "results" / name
    shutil.copytree(folder, tmp_path / name)
    committed = [
        path for path in report(tmp_path / name, ["csv", "md"]).files if (folder / path.name).exists()
    ]
    assert committed
    for path in committed:
        assert path.read_text("utf-8") == (folder / path.name).read_text("utf-8"), path.name


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
