"""README: its links lead somewhere, and its table has the numbers of the records."""

import re
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_link_to_a_file_leads_somewhere():
    links = set(re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README))
    assert len(links) > 20
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_every_link_to_a_heading_leads_somewhere():
    headings = re.findall(r"^#+ (.*)$", README, re.MULTILINE)
    known = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    links = set(re.findall(r"\]\(#([^)]+)\)", README))
    assert links
    assert links <= known


def test_the_first_table_is_table1():
    found = pd.read_csv(ROOT / "results/mnist/table1.csv").set_index("fanout")
    rows = re.findall(
        r"^\| (\d+) \| ([\d.]+) ± ([\d.]+) \| ([\d.]+) \| ([\d.]+) ± ([\d.]+) \| ([\d.]+) \| "
        r"([\d.]+) % \| ([\d.]+) % \|$",
        README,
        re.MULTILINE,
    )
    assert len(rows) == 13
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
    assert f"mean of {found['repeats'].min()} repeats (the paper: 200)" in README
