"""The page in a real browser: Chromium, without a network."""

import os
import shutil

import pytest
from made_up import ensemble_records, make_run, mistake_records, sweep_records, timing_records
from playwright.sync_api import sync_playwright

from elmlda.reports.write import report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None and not os.environ.get("CI"):
    pytest.skip("no chromium on this machine", allow_module_level=True)

FLAGS = [
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
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
def path(tmp_path_factory, mnist):
    """The page of a run that has everything, and a setting that is out to do harm."""
    rates = {fanout: [(7.2 / fanout, 6.9 / fanout)] * 3 for fanout in (1, 2, 3, 10, 20)}
    folder = make_run(
        tmp_path_factory.mktemp("page") / "run",
        run={"activation": EVIL},
        experiments={"ensemble": {"n": 20, "n_hidden": 15680, "repeats": 1}},
        sweep=sweep_records(rates),
        ensemble=ensemble_records({1: [2.1], 2: [1.9], 20: [0.12]}),
        mistakes=mistake_records(12, labels=mnist.test.labels),
        timing=timing_records({1: [(1.0, 1.1, 1.2)], 20: [(80.0, 80.5, 81.0)]}),
    )
    report(folder, ("html",))
    return folder / "report.html"


@pytest.fixture
def open_page(browser, path):
    """The page as some screen shows it; it must neither complain nor ask for anything else."""
    complaints, requests, contexts = [], [], []

    def open_page(width=1100, scheme="light", target=path):
        context = browser.new_context(viewport={"width": width, "height": 740}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(target.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert {url for url in requests if not url.startswith("data:")} == {path.as_uri()}


def test_it_loads_whole(open_page):
    page = open_page()
    assert page.title() == "elmlda on mnist"
    widths = page.eval_on_selector_all("img", "images => images.map(image => image.naturalWidth)")
    assert len(widths) == 8
    assert min(widths) > 0
    assert page.get_by_text(EVIL).count() >= 1  # as text, not as an image


def test_the_first_screen_tells_the_verdict(open_page):
    for width in (1100, 360):
        box = open_page(width).locator(".headline").bounding_box()
        assert box["y"] + box["height"] < 740


def column(page, table, number):
    return page.locator(f"{table} tbody tr > :nth-child({number})").all_inner_texts()


def test_tables_sort_by_click_and_by_key(open_page):
    page = open_page()
    table = "#table1 table"
    assert column(page, table, 1) == ["1", "2", "3", "10", "20"]
    head = page.locator(f"{table} thead th").first
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, table, 1) == ["1", "2", "3", "10", "20"]  # as numbers, not as text
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, table, 1) == ["20", "10", "3", "2", "1"]
    rate = page.locator(f"{table} thead th", has_text="PI-ELM")
    rate.locator("button").click()
    assert head.get_attribute("aria-sort") is None
    assert column(page, table, 1) == ["20", "10", "3", "2", "1"]
    assert [text[:4] for text in column(page, table, 4)] == ["0.36", "0.72", "2.40", "3.60", "7.20"]


def test_verdicts_sort_as_text_and_blanks_come_last(open_page):
    page = open_page()
    table = "#claims .scroll:first-of-type table"
    button = page.locator(f"{table} thead th", has_text="95 % interval").locator("button")
    button.click()
    for _ in range(2):
        texts = column(page, table, 5)
        assert "" in texts
        assert "" not in texts[: texts.index("")]
        assert set(texts[texts.index("") :]) == {""}
        button.click()


def brightness(page, selector, what):
    color = page.eval_on_selector(selector, f"element => getComputedStyle(element).{what}")
    return sum(float(part) for part in color[color.index("(") + 1 : -1].split(",")[:3]) / 3


def test_light_and_dark(open_page):
    light, dark = open_page(), open_page(scheme="dark")
    assert brightness(light, "body", "backgroundColor") > 240
    assert brightness(light, "body", "color") < 60
    assert brightness(dark, "body", "backgroundColor") < 60
    assert brightness(dark, "body", "color") > 200
    sources = [
        page.eval_on_selector_all("img", "images => images.map(image => image.currentSrc)")
        for page in (light, dark)
    ]
    assert all(one != other for one, other in zip(*sources, strict=True))


@pytest.mark.parametrize("width", [320, 360, 768, 900, 1100])
def test_nothing_is_wider_than_the_screen(open_page, width):
    page = open_page(width)
    page.locator("details").evaluate_all("all => all.forEach(details => details.open = true)")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    overflowing = page.eval_on_selector_all(
        ".scroll", "regions => regions.filter(r => r.scrollWidth > r.clientWidth + 1).length"
    )
    assert overflowing == 0


def test_everything_is_reached_by_keyboard(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    seen = set()
    for _ in range(160):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.tagName"))
    assert {"A", "BUTTON", "DIV", "SUMMARY", "PRE"} <= seen


def test_it_is_accessible_in_outline(open_page):
    page = open_page()
    assert page.locator("h1").count() == 1
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.locator("img:not([alt]), img[alt='']").count() == 0
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("th:not([scope])").count() == 0
    ids = page.eval_on_selector_all("[id]", "all => all.map(element => element.id)")
    assert len(ids) == len(set(ids))
    targets = page.eval_on_selector_all("a", "all => all.map(a => a.getAttribute('href').slice(1))")
    assert set(targets) <= set(ids)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(open_page, scheme):
    """Contrast of at least 4.5, as WCAG asks for."""
    page = open_page(scheme=scheme)
    for selector in (".headline", ".verdict.open", "caption", "body"):
        element = page.locator(selector).first
        colors = element.evaluate(
            """element => {
                let behind = element;
                while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)")
                    behind = behind.parentElement;
                return [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor];
            }"""
        )
        lighter, darker = sorted(map(luminance, colors), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, selector


def luminance(color):
    parts = [float(part) / 255 for part in color[color.index("(") + 1 : -1].split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_it_prints(open_page, tmp_path):
    page = open_page(scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert brightness(page, "body", "backgroundColor") > 240
    content = page.pdf(path=tmp_path / "report.pdf")
    assert content.startswith(b"%PDF")
    assert page.locator("details:not([open])").count() == 0
