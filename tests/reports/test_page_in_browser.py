"""The page in a real browser: Chromium, without a network, at 390 and 1,200 pixels, light and dark."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from made_runs import (
    MNIST,
    draw_posteriors,
    keep,
    make_run,
    simulate_draws,
    simulate_sweep,
    simulate_timing,
)
from playwright.sync_api import sync_playwright

from elmlda.reports import report

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None and not (os.environ.get("CI") and sys.platform == "linux"):
    pytest.skip("no chromium on this machine", allow_module_level=True)
FLAGS = ["--disable-gpu", "--disable-background-networking", "--disable-component-update"]
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser():
    assert CHROMIUM, "these tests need chromium: install Debian's package of that name"
    sandbox = [] if os.geteuid() else ["--no-sandbox"]  # root can't have one
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *sandbox])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Write the page of a run with every experiment and a malicious name."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("page") / "run"
    tables = {"draws": simulate_draws(rng, n=40), "timing": simulate_timing(rng)}
    sweep = simulate_sweep(rng, n=40).assign(log_loss=0.5)
    make_run(folder, run={**MNIST, "dataset": EVIL}, commands=[EVIL], sweep=sweep, **tables)
    keep(folder, *draw_posteriors(rng, 3, n_test=10_000, n_classes=10))
    (folder / "NOTES.md").write_text(f"{EVIL} $x$", "utf-8")
    report(folder, ["html"])
    return folder / "report.html"


@pytest.fixture
def open_page(browser, path):
    """Return a function that opens the page; afterwards, fail on complaints and network requests."""
    complaints, requests, contexts = [], [], []

    def open_page(width=1200, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert {url for url in requests if not url.startswith("data:")} == {path.as_uri()}


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_is_wider_than_the_screen(open_page, width):
    page = open_page(width)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    widths = page.eval_on_selector_all(".scroll", "all => all.map(r => [r.scrollWidth, r.clientWidth])")
    assert len(widths) >= 7
    is_cut = [inside > outside + 1 for inside, outside in widths]
    assert any(is_cut) == (width == 390)  # tables scroll on a phone only
    headings = page.locator("tbody th").first.evaluate("cell => getComputedStyle(cell).position")
    assert headings == "sticky"


@pytest.mark.parametrize("width", [390, 1200])
def test_figures_can_be_read(open_page, width):
    page = open_page(width)
    page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
    sizes = page.eval_on_selector_all(
        "figure svg",
        """all => all.filter(svg => svg.clientWidth).map(svg => [...svg.querySelectorAll("text")].map(
            text => parseFloat(getComputedStyle(text).fontSize) * svg.clientWidth / svg.viewBox.baseVal.width
        )).flat()""",
    )
    assert len(sizes) > 100
    assert min(sizes) >= 9


def test_the_page_is_small(open_page, path):
    page = open_page(1200)
    assert path.stat().st_size < 800_000
    assert page.evaluate("document.documentElement.scrollHeight") <= 7_000
    box = page.locator(".result").bounding_box()
    assert box["y"] + box["height"] < 800  # the answer is on the first screen


@pytest.mark.parametrize("name", ["paper", "first-run"])
def test_committed_runs_have_pages_within_the_limits(browser, name, tmp_path):
    folder = tmp_path / name
    shutil.copytree(ROOT / "results" / name, folder)
    report(folder, "html")
    assert (folder / "report.html").stat().st_size < 800_000
    for width in (390, 1200):
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto((folder / "report.html").as_uri())
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        assert width == 390 or page.evaluate("document.documentElement.scrollHeight") <= 7_000
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_on_page_and_in_figures(open_page, scheme):
    """WCAG requires a contrast of at least 4.5, also in figures."""
    page = open_page(scheme=scheme)
    background = page.eval_on_selector("body", "body => getComputedStyle(body).backgroundColor")
    assert (luminance(background) < 0.1) == (scheme == "dark")
    for selector, what in ((".result", "color"), (".verdict", "color"), ("caption", "color"),
                           ("figcaption", "color"), ("figure svg text", "fill")):  # fmt: skip
        color, behind = page.locator(selector).first.evaluate(
            """(element, what) => {
                let behind = element;
                while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)")
                    behind = behind.parentElement;
                return [getComputedStyle(element)[what], getComputedStyle(behind).backgroundColor];
            }""",
            what,
        )
        lighter, darker = sorted(map(luminance, (color, behind)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, selector


def luminance(color):
    parts = [float(part) / 255 for part in color[color.index("(") + 1 : -1].split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_it_is_accessible_in_outline(open_page):
    page = open_page()
    assert page.get_by_text(EVIL).count() >= 2  # as text, not as an image
    assert page.locator("h1").count() == 1
    assert page.locator("[role=img]:not([aria-label])").count() == 0
    assert page.locator("table:not(:has(caption)), th:not([scope])").count() == 0
    targets = page.eval_on_selector_all("a[href^='#']", "all => all.map(a => a.hash.slice(1))")
    assert all(page.locator(f"[id='{target}']").count() == 1 for target in targets)
    files = page.eval_on_selector_all("a:not([href^='#'])", "all => all.map(a => a.textContent)")
    assert {"table1.csv", "sweep.csv", "manifest.json"} <= set(files)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"


def test_it_prints_light(open_page, tmp_path):
    page = open_page(scheme="dark")
    page.emulate_media(media="print")
    assert page.locator(".skip").is_hidden()
    color = page.eval_on_selector("body", "body => getComputedStyle(body).backgroundColor")
    assert luminance(color) > 0.9
    assert page.pdf(path=tmp_path / "report.pdf").startswith(b"%PDF")
