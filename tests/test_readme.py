"""README and the pages it links: links work, numbers equal the results', and examples run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROSE = re.sub(r"^```.*?^```", "", README, flags=re.MULTILINE | re.DOTALL)
PAGES = [
    "README.md",
    "CHANGELOG.md",
    ".github/CONTRIBUTING.md",
    "results/README.md",
    "tests/README.md",
    *(f"elmlda/{name}/README.md" for name in ("datasets", "estimators", "experiments", "runs")),
]
PAPER = ROOT / "results/paper"


def find_blocks(language, text=README):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def find_section(heading):
    return README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def split_numbers(text):
    """Split a text into its words and its numbers."""
    number = r"(?<![\w/])-?\d[\d,]*(?:\.\d+)?"
    numbers = [float(n.rstrip(",").replace(",", "")) for n in re.findall(number, text)]
    return re.sub(number, "", text).split(), numbers


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_readme_is_short():
    assert len(PROSE.split()) <= 1000


def test_quick_start_prints_the_first_networks_of_seed_0():
    (shown,) = find_blocks("text", find_section("Try it"))
    rows = [split_numbers(line)[1] for line in shown.splitlines() if line.startswith("      ")]
    sweep = pd.read_csv(ROOT / "results/first-run/sweep.csv").query("repeat < 3").set_index("fanout")
    paper = pd.read_csv(PAPER / "claims.csv").set_index("key")["paper"]
    for fanout, _, pi, _, paper_pi, lda, _, paper_lda, _, paper_improvement in rows:
        means = sweep.loc[fanout, ["pi_errors", "lda_errors"]].mean() / 100
        assert [pi, lda] == pytest.approx(list(means), abs=0.011)
        printed = [paper[f"table1-{cell}-{fanout:.0f}"] for cell in ("pi", "lda", "pi-improvement")]
        assert [paper_pi, paper_lda, paper_improvement] == printed
    assert len(rows) == 3


def test_findings_are_those_of_the_registered_run():
    claims = pd.read_csv(PAPER / "claims.csv").set_index("key")
    contrasts = pd.read_csv(ROOT / "results/compare/contrasts.csv").query("dataset == 'mnist'")
    contrast = contrasts.set_index("reading").loc["Eq. (5)"]
    rates = claims.query("counted and kind == 'rate'")
    times = pd.read_csv(PAPER / "table2_details.csv")
    _, found = split_numbers(find_section("What we found"))
    average, with_constant = claims.loc[["average-improvement", "average-improvement-constant"], "ours"]
    facts = [
        average,
        claims.loc["average-improvement", "paper"],
        with_constant,
        times["overhead_percent"].max(),
    ]
    hundredths = [*contrast[["difference", "difference_interval"]], claims.loc["ensemble-20", "ours"]]
    assert {round(number, 1) for number in facts} | {round(number, 2) for number in hundredths} <= set(
        found
    )
    assert {len(rates), round(times["paper_overhead_percent"].max())} <= set(found)
    assert (rates["ours"] / rates["paper"] - 1).abs().max() < 0.02
    assert (claims.loc[["lda-better", "lda-better-constant"], "low"] > 0).all()


def test_every_folder_of_results_is_listed():
    text = (ROOT / "results/README.md").read_text(encoding="utf-8")
    paths = subprocess.check_output(
        ["git", "ls-files", "results/*/*"], cwd=ROOT, text=True
    ).splitlines()
    folders = {path.split("/")[1] for path in paths}  # not those of one's own runs
    assert [name for name in folders if f"\n| [{name}](" not in text] == []


def test_times_are_those_of_the_benchmark():
    times = pd.read_csv(ROOT / "results/bench/peers.csv").groupby("contestant")["cpu_seconds"].mean()
    rows = re.findall(
        r"^\| ([^|]+) \| ([\d.]+) \| ([\d.]+) \|$", find_section("How fast"), re.MULTILINE
    )
    assert len(rows) == 3
    for name, seconds, ratio in rows:
        assert [float(seconds), float(ratio)] == [
            round(times[name], 1),
            round(times[name] / times["elmlda"], 1),
        ]


@pytest.mark.parametrize("page", ["README.md", "results/supplement.md", "scripts/reproduce"])
def test_how_long_the_registered_run_takes(page):
    """200 networks, two at a time, and five pairs at each fan-out, on the machine of most rows."""
    sweep, timing = (pd.read_csv(ROOT / f"results/paper/{name}.csv") for name in ("sweep", "timing"))
    networks = sweep[sweep["machine"] == 2].groupby("repeat")["seconds"].first()
    hours = (200 * networks.mean() / 2 + timing.query("pair < 5")["seconds"].sum()) / 3600
    assert f"about {hours:.0f} hours" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("heading", "language", "program"),
    [("Use the classifier", "python", [sys.executable, "-c"]), ("Your data", "sh", ["bash", "-ec"])],
)
def test_blocks_print_what_readme_shows(heading, language, program, tmp_path):
    section = find_section(heading)
    (block,), (shown,) = find_blocks(language, section), find_blocks("text", section)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    result = subprocess.run(
        [*program, block], cwd=tmp_path, env=os.environ | {"PATH": path}, check=True, timeout=600,
        capture_output=True, text=True,
    )  # fmt: skip
    (words, numbers), (shown_words, shown_numbers) = split_numbers(result.stdout), split_numbers(shown)
    assert words == shown_words
    assert numbers == pytest.approx(shown_numbers, rel=0.05, abs=0.01)


COMMANDS = [
    line.partition("#")[0].strip()
    for block in find_blocks("sh")
    for line in block.splitlines()
    if line.startswith("elmlda ")
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_spelt_right(command):
    """Every option exists: --help is looked at last, after the others were read."""
    words = shlex.split(command)[1:]
    n_words = 2 if words[0] == "data" else 1
    name, options = words[:n_words], [word for word in words if word.startswith("--")]
    shown = subprocess.run(
        [sys.executable, "-m", "elmlda", *name, "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert [option for option in options if option not in shown] == []
