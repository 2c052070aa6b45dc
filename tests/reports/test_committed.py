"""The committed reports are what the committed records give, on every machine."""

from pathlib import Path

import matplotlib
import pytest

from elmlda.reports.plots import draw
from elmlda.reports.write import find_folders, make_report, render_html, render_markdown

ROOT = Path(__file__).parents[2]
DRAWN_WITH = "3.11"
"""matplotlib's version that drew the committed figures: others place text a little differently."""


FOLDERS = find_folders(ROOT / "results")
QUICK = [
    ROOT / "results" / name
    for name in ("mnist", "compare", "compare/iris", "choices", "shaped/tune/uniform")
]


@pytest.mark.parametrize(
    "folder",
    [*QUICK, *(pytest.param(path, marks=pytest.mark.slow) for path in FOLDERS if path not in QUICK)],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_committed_report_is_made_again(folder):
    made = make_report(folder)
    assert (folder / "report.md").read_text("utf-8") == render_markdown(made)
    is_same_version = matplotlib.__version__.startswith(DRAWN_WITH)
    if is_same_version:
        assert (folder / "report.html").read_text("utf-8") == render_html(made)
    for name, table in made.tables.items():
        content = table.to_csv(index=False, float_format="%.6g")
        assert (folder / f"{name}.csv").read_text("utf-8") == content, name
    for figure in made.figures:
        drawn = (folder / f"{figure.name}.svg").read_bytes()
        assert (folder / f"{figure.name}.png").exists()
        if is_same_version:
            assert drawn == draw(figure.plot, ("png", "svg"))["svg"], figure.name
