"""Figures depend on their numbers alone, and show any name."""

import os
import subprocess
import sys
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from elmlda.reports import plots
from elmlda.reports.comparison import plot_summary
from elmlda.reports.plots import draw, log_ticks, name_means
from elmlda.reports.subjects.compare import plot_compare
from elmlda.reports.subjects.ensemble import plot_confusion
from elmlda.reports.subjects.tune import plot_tune
from elmlda.text import printable

MATPLOTLIBRC = """
text.usetex: True
savefig.format: pdf
savefig.bbox: tight
svg.fonttype: path
font.size: 30
axes.formatter.use_locale: True
"""
PROGRAM = """
import sys
from elmlda.reports.plots import draw
def plot(figure):
    figure.subplots().plot([0.5, 1000], [1, 2], label="a")
    figure.legend()
for content in draw(plot).values():
    sys.stdout.buffer.write(content)
"""
WEIRD = "a\x1b[31m\x00$x^2$ \U0001f9ec \u0e01\u0645 &<b>" + "long" * 40


def draw_in_process(folder, **environment):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MPL")}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, env={**kept, **environment}, capture_output=True
    )
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout, result.stderr.decode()


def test_the_environment_has_no_say(tmp_path):
    plain, _ = draw_in_process(tmp_path)
    (tmp_path / "matplotlibrc").write_text(MATPLOTLIBRC)
    changed, complaints = draw_in_process(
        tmp_path,
        MPLBACKEND="no-such-backend",
        SOURCE_DATE_EPOCH="yesterday",
        LC_ALL="de_DE.UTF-8",
        LANG="de_DE.UTF-8",
    )
    assert changed == plain
    assert complaints == ""


def test_the_environment_is_left_as_it_was(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "no-such-backend")
    draw(lambda figure: figure.subplots(), ("svg",))
    assert os.environ["MPLBACKEND"] == "no-such-backend"


def texts(svg):
    """All text of an SVG file, which must be well-formed."""
    return [element.text for element in ElementTree.fromstring(svg).iter() if element.text]


def rows(**columns):
    defaults = {
        "rule": "none", "n_hidden": [10, 20], "dataset": WEIRD, "repeats": 3,
        "pi_error_percent": 2.0, "pi_interval": 0.1, "lda_error_percent": 1.9, "lda_interval": 0.1,
        "difference": 0.1, "difference_interval": 0.05,
    }  # fmt: skip
    return pd.DataFrame({**defaults, **columns})


@pytest.mark.parametrize(
    "plot",
    [
        partial(plot_compare, table=rows(), title=printable(WEIRD, 60)),
        partial(plot_summary, rows=rows(), fanout=5),
        partial(
            plot_confusion,
            confusion=np.array([[3, 1], [0, 2]]),
            classes=[printable(WEIRD, 12), "b"],
            title="t",
        ),
    ],
)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_any_name_is_drawn(plot, theme):
    """Warnings are errors here: letters that the font lacks must not warn."""
    files = draw(plot, theme=theme)
    shown = "".join(texts(files["svg"]))
    assert "a\\x1b" in shown
    assert "long" * 20 not in shown


def tick_labels(axis):
    axis.figure.canvas.draw()
    return [label.get_text() for label in axis.get_ticklabels()]


def test_ridges_are_plain_numbers():
    table = pd.DataFrame(
        {
            "ridge": [0, 1, 10, 100] * 2,
            "weight_size": [1.0] * 4 + [2.0] * 4,
            "pi_error_percent": 4.0,
            "lda_error_percent": 3.0,
        }
    )
    names = {"method": ["pi", "lda"], "name": ["PI-ELM", "LDA-ELM"]}
    choices = pd.DataFrame({**names, "ridge": [1, 10], "error_percent": [4.0, 3.0]})
    plot = partial(plot_tune, table=table, choices=choices, input_weights="uniform")
    shown = texts(draw(plot, ("svg",))["svg"])
    assert {"0", "1", "10", "100"} <= set(shown)
    assert not [text for text in shown if "mathdefault" in text]


@pytest.mark.parametrize(("low", "high"), [(9.8, 17.5), (0.9, 7.5), (1, 1000), (2.0, 2.3)])
def test_a_logarithmic_axis_has_several_ticks(low, high):
    axes = Figure().subplots()
    axes.set(yscale="log", ylim=(low, high))
    log_ticks(axes.yaxis)
    shown = [float(label) for label in tick_labels(axes.yaxis) if label]
    assert len([tick for tick in shown if low <= tick <= high]) >= 3


def test_the_dark_theme_is_dark():
    def plot(figure):
        plot_confusion(figure, np.array([[3, 1], [0, 2]]), ["a", "b"], "t")
        seen.append(figure.axes[0].images[0].cmap(0.0)[:3])
        seen.append(plots.ink())

    seen = []
    draw(plot, ("svg",), "dark")
    assert max(seen[0]) < 0.2
    assert seen[1] == "#e6e6e6"


def test_intervals_are_promised_only_if_they_are_drawn():
    repeats = pd.Series([1, 3])
    assert name_means(repeats, pd.Series([0.1, 0.2])).endswith(", 95 % intervals")
    assert name_means(repeats, pd.Series([np.nan, 0.2])).endswith("intervals where drawn")
    assert name_means(repeats, pd.Series([np.nan] * 2)) == "mean of 1 to 3 repeats"
