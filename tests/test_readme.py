"""README and the pages it links: links work, numbers equal the results', and examples run."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    "README.md",
    "CHANGELOG.md",
    ".github/CONTRIBUTING.md",
    "tests/README.md",
    *(f"elmlda/{name}/README.md" for name in ("datasets", "estimators", "experiments", "runs")),
]


def find_blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_readme_is_short():
    assert len(README.split()) <= 1300


def test_readme_has_the_numbers_of_table1():
    table = pd.read_csv(ROOT / "results/paper/table1_details.csv").set_index("fanout")
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
            for column, value in table.loc[int(fanout), columns].items()
        ]
        assert cells == expected


def test_readme_has_the_numbers_of_the_registered_run():
    folder = ROOT / "results/paper"
    claims = pd.read_csv(folder / "claims.csv").set_index("key").query("counted")
    agreement = pd.read_csv(folder / "agreement.csv")
    verdicts = claims.groupby("kind")["verdict"].value_counts()
    two = claims.loc["ensemble-2"]
    largest = pd.read_csv(folder / "images.csv")[["p_both", "constant_p_both"]].max()
    early = pd.read_csv(ROOT / "results/first-run/agreement.csv")["p"][0]
    times = pd.read_csv(folder / "table2_details.csv")
    extra = [f"{times['overhead_percent'].agg(end):+.1f}".replace("-", "−") for end in ("min", "max")]
    eq5, constant = agreement["gap_z"]
    both = run_path(str(ROOT / "scripts/article"))["pool_runs"]()
    text = " ".join(README.split())
    for fact in (
        f"all {verdicts['rate', 'reproduced']} printed rates and {verdicts['statement', 'reproduced']} of "
        f"{verdicts['statement'].sum()} statements are reproduced",
        f"({two['ours']:.3f} ± {(two['high'] - two['low']) / 2:.3f} % errors, the paper has 1.86) are "
        f"{two['verdict']}",
        f"LDA-ELM's time differs from PI-ELM's by {extra[0]} to {extra[1]} %; the paper's growth to "
        f"{times['paper_overhead_percent'].max():.0f} % is not seen",
        f"with the paper (p = {agreement['p'][0]:.2f}); in an exploratory run (p = {early:.3f}), and in both "
        f"together ({both['p']['Eq. (5)']:.2f}), it did",
        f"{eq5:.1f} standard errors above the paper's by its Eq. (5), and {-constant:.1f} below with a constant",
        f"(p up to {largest['p_both']:.3f} by Eq. (5), {largest['constant_p_both']:.3f} with a constant",
    ):
        assert fact in text


@pytest.mark.parametrize("page", ["README.md", "results/supplement.md", "scripts/reproduce"])
def test_how_long_the_registered_run_takes(page):
    """200 networks, two at a time, and five pairs at each fan-out, on the machine of most rows."""
    sweep, timing = (pd.read_csv(ROOT / f"results/paper/{name}.csv") for name in ("sweep", "timing"))
    networks = sweep[sweep["machine"] == 2].groupby("repeat")["seconds"].first()
    hours = (200 * networks.mean() / 2 + timing.query("pair < 5")["seconds"].sum()) / 3600
    assert f"about {hours:.0f} hours" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("block", find_blocks("python"))
def test_python_blocks_run_as_scripts(block, tmp_path):
    (tmp_path / "script.py").write_text(block, encoding="utf-8")
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True, timeout=300)


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
