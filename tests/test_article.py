"""The article: its numbers are those of the committed files, its links lead somewhere."""

import re
from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = run_path(str(ROOT / "scripts/article"))
ARTICLE = (ROOT / "results/article.md").read_text("utf-8")
PRINTED = {"0.05", "3.1", "1.86", "1.69", "1.96"} | {
    "21.6", "1.0", "5.6", "0.4", "188.5", "187.2", "0.013", "0.014", "0.589", "0.626", "1.2"
}  # fmt: skip
"""Numbers that the template has as they are: the paper's and the rule's; and what notes have from checks
whose rows are not committed."""


def test_article_is_what_the_files_say():
    assert SCRIPT["render"]() == ARTICLE


def test_its_tables_are_computed_from_the_rows():
    for name, table in SCRIPT["tabulate"]().items():
        text = table.to_csv(index=False, float_format=SCRIPT["DIGITS"])
        assert text == (ROOT / f"results/{name}.csv").read_text("utf-8"), name


def test_words_have_no_other_numbers():
    template = (ROOT / "scripts/article.md.j2").read_text("utf-8")
    words = re.sub(
        r"\{\{.*?\}\}|\{%.*?%\}|```.*?```|`[^`]*`|\(https?:[^)]*\)", "", template, flags=re.DOTALL
    )
    assert set(re.findall(r"\d+\.\d+", words.partition("## References")[0])) <= PRINTED


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)", ARTICLE)
    assert [
        link for link in links if "://" not in link and not (ROOT / "results" / link).exists()
    ] == []


@pytest.mark.parametrize("keys", [{"fanout": 99}, {"fanout": 1, "ridge": "other"}])
def test_a_row_that_is_not_there_is_an_error(keys):
    with pytest.raises(ValueError, match=r"table1_details\.csv"):
        SCRIPT["select"]("paper/table1_details", **keys)
