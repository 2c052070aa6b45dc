"""README and the pages it links: links work, numbers equal the results', and examples run."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image, ImageDraw

from elmlda.reports.study import is_study, make_study_report

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    "README.md",
    "tests/README.md",
    "results/shaped/NOTES.md",
    "results/bench/NOTES.md",
    *(f"elmlda/{name}/README.md" for name in ("datasets", "estimators", "execute", "runs")),
]


@pytest.mark.parametrize("page", PAGES)
def test_every_link_to_a_file_leads_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = {link for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if "://" not in link}
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_every_link_to_a_heading_leads_somewhere():
    headings = re.findall(r"^#+ (.*)$", README, re.MULTILINE)
    known = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    links = set(re.findall(r"\]\(#([^)]+)\)", README))
    assert links
    assert links <= known


def test_readme_has_the_numbers_of_table1():
    found = pd.read_csv(ROOT / "results/mnist/table1.csv").set_index("fanout")
    rows = re.findall(
        r"^\| (\d+) \| ([\d.]+) ± ([\d.]+) \| ([\d.]+) \| ([\d.]+) ± ([\d.]+) \| ([\d.]+) \| "
        r"([\d.]+) % \| ([\d.]+) % \|$",
        README,
        re.MULTILINE,
    )
    assert [int(row[0]) for row in rows] == [1, 5, 10, 15, 20]
    columns = [
        "pi_error_percent", "pi_interval", "paper_pi_error_percent", "lda_error_percent",
        "lda_interval", "paper_lda_error_percent", "improvement_percent", "paper_improvement_percent",
    ]  # fmt: skip
    for fanout, *cells in rows:
        expected = [
            f"{value:.1f}" if "improvement" in column else f"{value:.2f}"
            for column, value in found.loc[int(fanout), columns].items()
        ]
        assert cells == expected
    assert f"mean of {found['repeats'].min()} repeats, as many as the paper has" in README


def test_readme_has_the_verdicts():
    claims = pd.read_csv(ROOT / "results/mnist/claims.csv")
    eq5 = claims[
        (claims["reading"] != "with a constant unit") & (claims["key"] != "average-improvement-all")
    ]
    for kind, words in (
        ("rate", "of the {} error rates"),
        ("statement", "of the paper's {} statements"),
    ):
        verdicts = eq5.loc[eq5["kind"] == kind, "verdict"]
        assert f"{(verdicts == 'reproduced').sum()} {words.format(len(verdicts))}" in README
        assert "not reproduced" not in set(verdicts)


def test_readme_has_the_rate_of_twenty_networks():
    table = pd.read_csv(ROOT / "results/mnist/ensemble_table.csv").set_index("size").loc[20]
    assert f"Twenty networks combined have {table['error_percent']:.2f} % errors" in README
    interval = f"{table['repeats']:.0f} ensembles leave ± {table['interval']:.2f} points"
    assert interval.replace("10", "ten") in " ".join(README.split())


def test_readme_has_the_extra_time_of_lda_elm():
    """The smallest and the largest mean, and the highest upper end of an interval."""
    table = pd.read_csv(ROOT / "results/mnist/table2.csv").set_index("fanout")
    extra, half = table["overhead_percent"], table["overhead_interval"]
    assert list(table["repeats"]) == 20 * [3]
    text = " ".join(README.split())
    assert f"LDA-ELM takes {extra.min():.2f} to {extra.max():.2f} % more time than PI-ELM" in text
    assert f"at most {(extra + half).max():.1f} % by the upper ends of its intervals" in text


def test_readme_says_how_pi_elm_lies():
    table = pd.read_csv(ROOT / "results/mnist/table1.csv").dropna(subset=["paper_pi_error_percent"])
    paper = table["paper_pi_error_percent"]
    off, constant = table["pi_error_percent"] - paper, table["pi_constant_error_percent"] - paper
    assert f"above the paper's rate at {(off > 0).sum()} of the {len(table)} printed fan-outs" in README
    assert f"it is nearer at {(constant.abs() < off.abs()).sum()} of them" in README
    readings = pd.read_csv(ROOT / "results/mnist/readings.csv")["gap_distance"]
    eq5, with_unit = (f"{z:+.1f}".replace("-", "−") for z in readings)
    assert f"off by z = {eq5} without that unit and by {with_unit} with it" in " ".join(README.split())


def test_readme_has_the_numbers_of_the_comparison():
    found = pd.read_csv(ROOT / "results/compare/summary.csv")
    found = found[(found["fanout"] == 5) & (found["rule"] == "none")].set_index("dataset")
    rows = re.findall(
        r"^\| ([\w-]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| (−?[\d.]+) ± ([\d.]+) \| "
        r"(< )?([\d.]+) \|$",
        README,
        re.MULTILINE,
    )
    assert {row[0] for row in rows} == set(found.index)
    for name, *cells, less, p in rows:
        row = found.loc[name]
        columns = ("pi", "pi_constant", "lda")
        expected = [f"{row[f'{column}_error_percent']:.2f}" for column in columns]
        expected += [f"{row['difference']:.2f}".replace("-", "−"), f"{row['difference_interval']:.2f}"]
        assert cells == expected
        assert row["p_holm"] < float(p) if less else float(p) == pytest.approx(row["p_holm"], rel=0.2)


SHAPED = ROOT / "results/shaped"


@pytest.mark.skipif(not is_study(SHAPED), reason="elmlda shaped has not been run")
def test_readme_says_what_the_study_of_input_weights_found():
    found, text = make_study_report(SHAPED), " ".join(README.split())
    assert found.headline in text
    assert found.second_line in text
    (table,) = next(section.tables for section in found.sections if section.key == "best")
    for row in table.rows:
        assert f"| {' | '.join(cell.text for cell in row)} |\n" in README


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


SHORTER = {
    r"range\(1, 4\)": "[1]", r"repeats=5": "repeats=1", r"--fanout \S+": "--fanout 1",
    r"--repeats \d+": "--repeats 1", r"--n \d+": "--n 2",
}  # fmt: skip
SMALL = {
    "sweep": "--dataset digits", "ensemble": "--dataset digits --fanout 1 --repeats 1",
    "timing": "--dataset digits --repeats 1", "train": "--dataset digits", "report": "", "predict": "",
}  # fmt: skip


def shorten(text):
    for pattern, short in SHORTER.items():
        text = re.sub(pattern, short, text)
    return text


def test_the_commands_run_as_they_are_pasted(tmp_path):
    lines = [
        line for block in blocks("sh") for line in block.splitlines() if line.startswith("elmlda ")
    ]
    names = [line.split()[1] for line in lines]
    assert names == ["sweep", "ensemble", "timing", "report", "train", "predict", "train"]
    image = Image.new("L", (240, 240), "white")
    ImageDraw.Draw(image).line([60, 44, 176, 44, 100, 204], fill="black", width=14)
    for name in ("7-anna.jpg", "3-ben.jpg"):
        image.save(tmp_path / name)
    for line in lines:
        words = shlex.split(shorten(line), comments=True)
        words += shlex.split(SMALL[words[1]])
        command = [sys.executable, "-m", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "results/digits/report.html").exists()
    assert (tmp_path / "digits-model.npz").exists()


@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_examples_run_as_they_are_pasted(code, tmp_path):
    if "sklearn" in code:
        pytest.importorskip("sklearn")
    script = tmp_path / "pasted.py"
    # a pasted block has no main guard, and processes side by side need one
    body = "".join(f"    {line}\n" for line in shorten(code).splitlines())
    script.write_text(f"if __name__ == '__main__':\n{body}", encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout
