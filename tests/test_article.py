"""The article: its numbers are those of the committed files, and it can be made again."""

import re
from pathlib import Path
from runpy import run_path

import numpy as np
import pandas as pd
import pytest

from elmlda import paper

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
SCRIPT = run_path(str(ROOT / "scripts/article"))
SOURCE, DIGEST = SCRIPT["render_article"]()
SUPPLEMENT = (RESULTS / "supplement.md").read_text("utf-8")
TYPED = {"3.1", "1.86", "1.69", "1.96", "0.05", "0.5", "0.1", "7.20", "6.84"} | {
    "21.6", "1.0", "5.6", "0.4", "188.5", "187.2", "0.013", "0.014", "0.589", "0.626", "1.2"
}  # fmt: skip
"""Decimals that templates have as they are: the paper's and the rule's; and what notes have from checks
whose rows are not committed."""


def test_supplement_is_what_the_files_say():
    assert SCRIPT["render"]("supplement.md.j2") == SUPPLEMENT


def test_the_pdf_is_made_of_the_files_numbers():
    assert DIGEST.encode() in (RESULTS / "article.pdf").read_bytes()


def test_the_same_source_gives_the_same_bytes_of_eight_pages_at_most():
    pdf = SCRIPT["typeset"](SOURCE)
    assert SCRIPT["typeset"](SOURCE) == pdf
    assert 4 <= len(re.findall(rb"/Type ?/Page\b", pdf)) <= 8


def test_article_is_short():
    """The abstract to the availability, with captions and tables, without Typst's code and formulas."""
    code = (
        r"^ *(columns:|placement:|image\(|table\().*$|caption:|table\.\w+|#\w+\(|<\w+>|@\w+|\$[^$]*\$"
    )
    text = re.sub(code, "", SOURCE.partition("// Text\n")[2], flags=re.MULTILINE)
    assert len(re.findall(r"[^\W\d_][\w'’-]*", text)) <= 3000


def test_its_tables_are_computed_from_the_rows():
    for name, table in SCRIPT["tabulate"]().items():
        text = table.to_csv(index=False, float_format=SCRIPT["DIGITS"])
        assert text == (RESULTS / f"{name}.csv").read_text("utf-8"), name


@pytest.mark.parametrize(("name", "start"), [("article.typ.j2", "// Text"), ("supplement.md.j2", "# ")])
def test_words_have_no_other_numbers(name, start):
    text = (ROOT / "scripts" / name).read_text("utf-8").partition(start)[2]
    text = re.sub(r"{{.*?}}|{%.*?%}|```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    assert set(re.findall(r"\d+\.\d+", text)) <= TYPED


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)", SUPPLEMENT) + re.findall(r'#link\("([^"]*)"', SOURCE)
    assert [link for link in links if "://" not in link and not (RESULTS / link).exists()] == []


@pytest.mark.parametrize("keys", [{"fanout": 99}, {"fanout": 1, "ridge": "other"}])
def test_a_row_that_is_not_there_is_an_error(keys):
    with pytest.raises(ValueError, match=r"table1_details\.csv"):
        SCRIPT["select"]("paper/table1_details", **keys)


# The p-values of the printed improvements, by a bootstrap that shares no code with the article's


def read_rates(names, method):
    tables = [pd.read_csv(RESULTS / name / "sweep.csv") for name in names]
    wide = [
        table.pivot(index="repeat", columns="fanout", values=[f"{method}_errors", "lda_errors"]) / 100
        for table in tables
    ]
    rates = pd.concat(wide)
    return np.stack([rates[f"{m}_errors"][list(paper.FANOUTS)] for m in (method, "lda")])


def improve(pi, lda):
    return 100 * (pi - lda) / pi


def measure(weights, rates, theirs):
    """Return T of weighted networks; the improvements' covariance is propagated from the rates'."""
    n = rates.shape[1]
    flat = np.concatenate(rates, axis=1)
    mean = weights @ flat
    second = (weights @ (flat[:, :, None] * flat[:, None, :]).reshape(n, -1)).reshape(-1, 26, 26)
    covariance = (second - mean[:, :, None] * mean[:, None, :]) * n / (n - 1)
    pi, lda = mean[:, :13], mean[:, 13:]
    slopes = np.concatenate(
        [np.eye(13) * (100 * lda / pi**2)[:, None], np.eye(13) * (-100 / pi)[:, None]], 2
    )
    s = slopes @ covariance @ slopes.swapaxes(1, 2)
    c = s / n + s * np.eye(13) / 200 + np.eye(13) * 0.1**2 / 12
    d = improve(pi, lda) - theirs
    return np.einsum("bi,bi->b", d, np.linalg.solve(c, d[..., None])[..., 0])


@pytest.mark.parametrize("reading", ["Eq. (5)", "with a constant unit"])
@pytest.mark.parametrize("run", ["paper", "first-run", "both"])
def test_p_of_the_improvements_is_that_of_resampled_networks(run, reading):
    rng, n_draws = np.random.default_rng(5), 4000
    names = ["paper", "first-run"] if run == "both" else [run]
    rates = read_rates(names, "pi" if reading == "Eq. (5)" else "pi_constant")
    n = rates.shape[1]
    ours = rng.multinomial(n, np.full(n, 1 / n), n_draws) / n
    theirs = [  # new networks at each fan-out
        improve(*(rng.multinomial(200, np.full(n, 1 / n), n_draws) / 200 @ rates[:, :, i].T).T)
        for i in range(13)
    ]
    simulated = measure(ours, rates, np.stack(theirs, axis=1).round(1))
    printed = np.array(list(paper.IMPROVEMENT_PERCENT.values()))
    observed = measure(np.full((1, n), 1 / n), rates, printed)
    found = pd.read_csv(RESULTS / "paper/improvements.csv").set_index(["run", "reading"])
    assert found.loc[(run, reading), "t"] == pytest.approx(observed[0], rel=0.01)
    p = (simulated >= observed).mean()
    assert found.loc[(run, reading), "p"] == pytest.approx(p, rel=0.1, abs=0.003 if p < 0.01 else 0.02)
    expected = {"Eq. (5)": [0.047, 0.0005, 0.0005], "with a constant unit": [0.86, 0.37, 0.54]}
    stated = expected[reading][["paper", "first-run", "both"].index(run)]
    assert p == pytest.approx(stated, abs=0.003 if stated < 0.01 else 0.03)
