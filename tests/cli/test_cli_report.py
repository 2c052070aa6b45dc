"""elmlda report as users meet it."""

import pytest
from checks import edit_manifest
from command_line import read_raw_manifest, read_rows
from made_up import make_run, sweep_records, timing_records

TIMING = timing_records({1: [(1.0, 1.1, 1.2)] * 3, 11: [(20.0, 20.5, 21.0)]})


def test_the_summary_tells_the_verdict_and_the_paths(invoke, tmp_path):
    plan = {"sweep": {"repeats": 3, "n_hidden": [784, 1568]}}
    sweep = sweep_records({1: [(7.2, 6.9)] * 3, 2: [(5.2, 5.0)] * 2})
    folder = make_run(tmp_path / "run", experiments=plan, sweep=sweep)
    output = invoke("report", folder).stdout.splitlines()
    assert output[0].startswith(f"{folder}: ")
    assert "Interim (3 of 200 networks" in output[0]
    assert "of 12 statements" in output[0]
    assert output[1].startswith("  With a constant hidden unit in PI-ELM")
    assert sum(line.startswith("  not decided yet: ") for line in output) == 10
    assert sum(line.startswith("  consistent with the paper so far: ") for line in output) == 2
    assert "  Missing: The sweep has 5 of 6 planned results." in output
    tables_and_figures = [path for path in folder.iterdir() if path.suffix in (".csv", ".png", ".svg")]
    assert output[-3:] == [
        f"  {folder}/report.md",
        f"  {folder}/report.html",
        f"  {len(tables_and_figures) - 1} tables and figures in {folder}",  # without the records
    ]


@pytest.mark.parametrize(
    ("formats", "expected"),
    [
        (["md"], {"report.md"}),
        (["csv"], {"table2.csv", "table2_as_printed.csv", "claims.csv"}),
        (["figures", "html"], {"times.png", "times.svg", "report.html"}),
    ],
)
def test_only_some_formats(invoke, tmp_path, formats, expected):
    folder = make_run(tmp_path / "run", timing=TIMING)
    before = set(folder.iterdir())
    invoke("report", folder, *(word for name in formats for word in ("--format", name)))
    assert {path.name for path in set(folder.iterdir()) - before} == expected


def test_open_opens_the_page(invoke, refusal, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("click.launch", opened.append)
    folder = make_run(tmp_path / "run", timing=TIMING)
    invoke("report", folder, "--format", "html", "--open")
    assert opened == [(folder / "report.html").as_uri()]
    assert "--open needs the page" in refusal("report", folder, "--format", "md", "--open", exit_code=2)


def test_without_a_name_all_runs_below_results(invoke, tmp_path, monkeypatch):
    for place in ("results/one", "results/study/two"):
        make_run(tmp_path / place, timing=TIMING)
    monkeypatch.chdir(tmp_path)
    output = invoke("report", "--format", "csv").stdout
    assert "results/one: " in output
    assert "results/study/two: " in output


def test_what_is_no_run_is_refused(refusal, tmp_path, monkeypatch):
    folder = make_run(tmp_path / "run")
    assert "no records yet" in refusal("report", folder)
    (tmp_path / "empty").mkdir()
    assert "no manifest.json" in refusal("report", tmp_path / "empty")
    monkeypatch.chdir(tmp_path / "empty")
    assert refusal("report").startswith("no run below results/.")


def test_a_doubled_record_is_refused(refusal, tmp_path):
    folder = make_run(tmp_path / "run", sweep=sweep_records({1: [(7.2, 6.9)] * 3}))
    lines = (folder / "sweep.csv").read_text().splitlines()
    (folder / "sweep.csv").write_text("\n".join([*lines, lines[-1]]) + "\n")
    assert "two records of" in refusal("report", folder)


def test_torn_lines_do_not_count(invoke, tmp_path):
    folder = make_run(tmp_path / "run", timing=TIMING)
    whole = (folder / "timing.csv").read_bytes()
    (folder / "timing.csv").write_bytes(whole[:-10])
    invoke("report", folder, "--format", "csv")
    assert [row["fanout"] for row in read_rows(folder / "table2.csv")] == ["1"]
    assert (folder / "timing.csv").read_bytes() == whole[:-10]  # a report changes no record


def test_a_manifest_without_settings_is_no_obstacle(invoke, tmp_path):
    folder = make_run(tmp_path / "run", timing=TIMING)
    manifest = read_raw_manifest(folder)
    edit_manifest(folder, manifest | {"run": {"dataset": "mnist"}})
    assert "Not the paper's data" in invoke("report", folder).stdout


def test_the_independent_design_beside_the_nested_one(elmlda, clouds, tmp_path):
    words = (
        "sweep",
        "--data-dir",
        clouds,
        "--fanout",
        "1,2",
        "--repeats",
        8,
        "--no-posteriors",
        "--quiet",
    )
    assert elmlda(*words, "--out", "run").returncode == 0
    inside = "--design", "independent", "--out", "run/independent"
    assert elmlda(*words, *inside).returncode == 0
    result = elmlda("report", "run", "--format", "csv", "--format", "md")
    assert result.returncode == 0, result.stderr
    rows = read_rows(tmp_path / "run/designs.csv")
    assert [(row["method"], row["fanout"]) for row in rows] == [
        (method, fanout) for method in ("pi", "pi_constant", "lda") for fanout in ("1", "2")
    ]
    assert len({row["nested_error_percent"] for row in rows}) > 2
    assert "## Nested against independent" in (tmp_path / "run/report.md").read_text()
    assert elmlda(*words, *inside, "--seed", 1, "--out", "other/independent").returncode == 0
    assert elmlda(*words, "--out", "other").returncode == 0
    assert "independent/ is not comparable with this one: seed 1 there, 0 here." in (
        elmlda("report", "other", "--format", "csv").stdout
    )
