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
    return re.sub(number, "", text).split(), [
        float(n.replace(",", "")) for n in re.findall(number, text)
    ]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_readme_is_short():
    assert len(PROSE.split()) <= 1000


def test_quick_start_prints_the_first_networks_of_seed_0():
    (shown,) = find_blocks("text", find_section("Try it"))
    number, interval = r" +([\d.]+)", r" ± [\d.]+"
    rows = re.findall(
        rf"^ +(\d) +3{(number + interval + number) * 2}{number * 2}$", shown, re.MULTILINE
    )
    recorded = (
        pd.read_csv(ROOT / "results/first-run/sweep.csv")
        .query("repeat < 3")
        .groupby("fanout")[["pi_errors", "lda_errors"]]
        .mean()
    )
    paper = pd.read_csv(PAPER / "claims.csv").set_index("key")["paper"]
    assert len(rows) == 3
    for fanout, pi, paper_pi, lda, paper_lda, *improvements in rows:
        means = recorded.loc[float(fanout)] / 100
        assert [float(pi), float(lda)] == pytest.approx(list(means), abs=0.011)
        printed = [paper[f"table1-{cell}-{fanout}"] for cell in ("pi", "lda", "pi-improvement")]
        assert [float(paper_pi), float(paper_lda), float(improvements[1])] == printed


def test_findings_are_those_of_the_registered_run():
    claims = pd.read_csv(PAPER / "claims.csv").set_index("key")
    contrast = pd.read_csv(PAPER / "contrast.csv").set_index("reading").loc["Eq. (5)"]
    rates = claims.query("counted and kind == 'rate'")
    times = pd.read_csv(PAPER / "table2_details.csv")
    found = " ".join(find_section("What we found").split())
    assert (rates["ours"] / rates["paper"] - 1).abs().max() < 0.02
    for fact in (
        f"by {claims['ours']['average-improvement']:.1f} % on average. The paper reports "
        f"{claims['paper']['average-improvement']:.1f} %",
        f"All {len(rates)} error rates",
        f"{claims['ours']['average-improvement-constant']:.1f} % fewer errors",
        f"{contrast['difference']:.2f} ± {contrast['difference_interval']:.2f} percentage points",
        f"at most {times['overhead_percent'].max():.1f} % more time than PI-ELM here, and up to "
        f"{times['paper_overhead_percent'].max():.0f} % more in the paper",
    ):
        assert fact in found
    assert (claims.loc[["lda-better", "lda-better-constant"], "low"] > 0).all()


def test_every_folder_of_results_is_listed():
    text = (ROOT / "results/README.md").read_text(encoding="utf-8")
    assert [
        path.name
        for path in (ROOT / "results").iterdir()
        if path.is_dir() and f"\n| [{path.name}](" not in text
    ] == []


def test_times_are_those_of_the_benchmark():
    times = pd.read_csv(ROOT / "results/bench/peers.csv")
    means = times.groupby("contestant")["cpu_seconds"].mean()
    rows = dict(re.findall(r"^\| ([^|]+) \| ([\d.]+ \| [\d.]+) \|$", find_section("How fast"), re.M))
    assert rows == {
        name: f"{mean:.1f} | {mean / means['elmlda']:.1f}"
        for name, mean in means.items()
        if name in rows
    }
    assert len(rows) == 3


@pytest.mark.parametrize("page", ["README.md", "results/supplement.md", "scripts/reproduce"])
def test_how_long_the_registered_run_takes(page):
    """200 networks, two at a time, and five pairs at each fan-out, on the machine of most rows."""
    sweep, timing = (pd.read_csv(ROOT / f"results/paper/{name}.csv") for name in ("sweep", "timing"))
    networks = sweep[sweep["machine"] == 2].groupby("repeat")["seconds"].first()
    hours = (200 * networks.mean() / 2 + timing.query("pair < 5")["seconds"].sum()) / 3600
    assert f"about {hours:.0f} hours" in (ROOT / page).read_text(encoding="utf-8")


def test_classifiers_print_what_readme_shows(tmp_path):
    section = find_section("Use the classifier")
    (block,), (shown,) = find_blocks("python", section), find_blocks("text", section)
    (tmp_path / "script.py").write_text(block, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        check=True,
        timeout=300,
        capture_output=True,
        text=True,
    )
    (words, numbers), (shown_words, shown_numbers) = split_numbers(result.stdout), split_numbers(shown)
    assert words == shown_words
    assert numbers == pytest.approx(shown_numbers, abs=0.01)


def test_own_data_print_what_readme_shows(tmp_path):
    section = find_section("Your data")
    (block,), (shown,) = find_blocks("sh", section), find_blocks("text", section)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-ec", block], cwd=tmp_path, check=True, timeout=300, capture_output=True, text=True,
        env=os.environ | {"PATH": path},
    )  # fmt: skip
    (words, numbers), (shown_words, shown_numbers) = split_numbers(result.stdout), split_numbers(shown)
    assert words == shown_words
    assert numbers == pytest.approx(shown_numbers, rel=0.05, abs=0.5)


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
