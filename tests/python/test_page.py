"""The server's page in a browser: Chromium or Chrome without a window, driven by Selenium."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import pathlib
import shutil
import tarfile

import pytest

from test_client import program, url  # noqa: F401 - the fixture of the server

webdriver = pytest.importorskip("selenium.webdriver", reason="NOT TESTED: the page needs `pip install selenium`")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--window-size=1200,1400"]


@pytest.fixture
def browser(tmp_path):
    """A browser with a profile of its own."""
    driver = shutil.which("chromedriver")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if driver is None or chromium is None:
        pytest.skip("NOT TESTED: the page needs chromedriver, and chromium or google-chrome")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in [*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield opened
    opened.quit()


def workspace() -> pathlib.Path:
    """tHu where the published workspaces are, a fixture elsewhere."""
    published = pathlib.Path(os.environ.get("NEXTSTAT_REFERENCE_DIR", "")) / "workspaces/tHu.json"
    return published if published.exists() else FIXTURES / "all_modifiers.json"


def keep(browser, name: str) -> None:
    """Saves a picture of the window in the folder NEXTSTAT_SCREENSHOTS, if it is set."""
    if folder := os.environ.get("NEXTSTAT_SCREENSHOTS"):
        browser.save_screenshot(str(pathlib.Path(folder) / f"{name}.png"))


def drop(browser, *files: tuple[str, bytes]) -> None:
    """Drops files on the page. Their bytes come from the test because pages cannot read files by name."""
    browser.execute_script("""
        const transfer = new DataTransfer();
        for (const [name, text] of arguments[0])
          transfer.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
        document.getElementById("drop").dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true}));
    """, [[name, base64.b64encode(data).decode()] for name, data in files])


def test_a_dropped_workspace_is_analysed(browser, url):  # noqa: F811
    def wait(condition):
        return WebDriverWait(browser, 120).until(lambda _: condition())

    def find(selector):
        return browser.find_elements(By.CSS_SELECTOR, selector)

    def tab(key):
        find(f"[data-key={key}]")[0].click()

    browser.get(url)
    file = workspace()
    drop(browser, (file.name, file.read_bytes()))
    wait(lambda: find("#panel table"))
    assert "parameters" in find("#summary")[0].text
    keep(browser, "summary")

    for key, label in [("fit", "Pulls and constraints"), ("ranking", "Ranking of nuisance parameters"),
                       ("limit", "CLs upper limit"), ("yields", "Expected and observed events")]:
        tab(key)
        picture = wait(lambda label=label: find(f"#panel img[alt='{label}']"))[0]
        assert int(picture.get_property("naturalWidth")) > 100
        links = [link.get_attribute("download") for link in find("#panel a")]
        assert {link.rsplit(".", 1)[1] for link in links} == {"svg", "json"}, links
        keep(browser, key)
    tab("fit")
    assert "Converged" in wait(lambda: find("#fitted"))[0].text

    number = find("#toys [name=n_toys]")[0]
    number.clear()
    number.send_keys("100000000")
    find("#toys button")[0].click()
    wait(lambda: any(float(bar.get_property("value") or 0) > 0 for bar in find("#list progress")))
    keep(browser, "toys")
    find("#list button")[0].click()
    wait(lambda: find("#list li[data-state=cancelled]"))
    assert "CLs" in find("#list li")[0].text
    keep(browser, "cancelled")

    drop(browser, ("broken.json", b'{"channels": []}'))
    wait(lambda: find("#message")[0].is_displayed())
    assert "/model/workspace" in find("#message")[0].text
    severe = [line["message"] for line in browser.get_log("browser") if line["level"] == "SEVERE"]
    assert all("422" in line for line in severe), severe


def test_every_tab_of_the_example_shows_its_numbers(browser, url):  # noqa: F811
    def wait(condition):
        return WebDriverWait(browser, 120).until(lambda _: condition())

    def text(key):
        browser.find_element(By.CSS_SELECTOR, f"[data-key={key}]").click()
        return wait(lambda: browser.find_elements(By.CSS_SELECTOR, "#panel a[download]")
                    and browser.find_element(By.ID, "panel").text)

    browser.get(url)
    assert "statistical models of particle physics" in browser.find_element(By.TAG_NAME, "main").text
    browser.find_element(By.ID, "example").click()
    wait(lambda: browser.find_elements(By.CSS_SELECTOR, "#panel table"))
    for key, words in [("fit", "mu = 1.23 ± 0.57. Converged"), ("ranking", "All parameters"),
                       ("yields", "data 758 185"), ("scan", "68.3 %"), ("limit", "observed 2.23"),
                       ("significance", "standard deviations"), ("goodness", "of freedom")]:
        shown = text(key)
        assert words in " ".join(shown.split()), (key, shown)
        keep(browser, f"example-{key}")
    browser.get(f"{url}/#example/limit")
    browser.refresh()
    wait(lambda: "Upper limit on mu at 95 % confidence" in browser.find_element(By.ID, "panel").text)


def test_files_that_are_no_models_get_our_words(browser, url):  # noqa: F811
    def message():
        wait = WebDriverWait(browser, 60)
        return wait.until(lambda _: (found := browser.find_element(By.ID, "message")).is_displayed() and found.text)

    def shown(words):
        WebDriverWait(browser, 60).until(lambda _: words in browser.find_element(By.ID, "name").text)

    browser.get(url)
    workspace = {
        "channels": [{"name": "c", "samples": [{"name": "s", "data": [5.0], "modifiers": [
            {"name": "mu", "type": "normfactor", "data": None}]}]}],
        "observations": [{"name": "c", "data": [6.0]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}], "version": "1.0.0",
    }
    patch = {"metadata": {"name": "p", "description": "", "digests": {}, "labels": ["m"], "references": {}}, "version": "1.0.0",
             "patches": [{"metadata": {"name": f"point{m}", "values": [m]},
                          "patch": [{"op": "replace", "path": "/channels/0/samples/0/data", "value": [float(m)]}]} for m in (3, 4)]}
    for name, data, words in [
        ("README.md", b"# Title\ntext", 'README.md is not a model: it begins with "# Title". The page takes'),
        ("shapes.root", b"root\0\0", "shapes.root has templates, but no model. Drop it together with the XML"),
        ("cut.json", b'{"channels": [', "cut.json is not complete JSON"),
        ("cut.json.gz", gzip.compress(b"{}" * 500)[:20], "cut.json.gz begins like a file of gzip"),
        ("fit.json", b'{"bestfit": [1]}', "is JSON with the key bestfit, but not a model"),
        ("empty.json", b"{}", "empty.json is JSON, but not a model"),
        ("set.json", json.dumps(patch).encode(), "set.json is a patchset. Drop the workspace that it changes first"),
    ]:
        drop(browser, (name, data))
        WebDriverWait(browser, 60).until(lambda _, words=words: words in message())
    drop(browser, ("model.json.gz", gzip.compress(json.dumps(workspace).encode())))
    shown("model")
    drop(browser, ("set.json", json.dumps(patch).encode()))
    shown("model with set.json")
    choices = browser.find_elements(By.CSS_SELECTOR, "#patch option")
    assert [choice.text for choice in choices] == ["point3", "point4"]
    keep(browser, "patchset")
    # The digest of a patchset is that of the file, where 5.0 is not 5.
    made_for = [(name, (FIXTURES / name).read_bytes()) for name in ("background_only.json", "patchset.json")]
    drop(browser, *made_for)
    shown("background_only with patchset.json")
    WebDriverWait(browser, 60).until(lambda _: browser.find_elements(By.CSS_SELECTOR, "#panel table"))
    assert not browser.find_element(By.ID, "message").is_displayed(), message()
    choices = browser.find_elements(By.CSS_SELECTOR, "#patch option")
    assert [choice.text for choice in choices] == [f"gluino_{masses}" for masses in ("1400_200", "1600_400", "1800_600")]


def test_wide_tables_say_that_they_scroll(browser, url):  # noqa: F811
    def hints():
        return [hint for hint in browser.find_elements(By.CSS_SELECTOR, "#panel .hint") if hint.is_displayed()]

    names = [f"signal_region_{i}_of_many" for i in range(12)]
    mu = {"name": "mu", "type": "normfactor", "data": None}
    workspace = {
        "channels": [{"name": name, "samples": [
            {"name": "s", "data": [5.0], "modifiers": [mu]}, {"name": "b", "data": [50.0], "modifiers": []}]} for name in names],
        "observations": [{"name": name, "data": [56.0]} for name in names],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}], "version": "1.0.0",
    }
    browser.get(url)
    drop(browser, ("wide.json", json.dumps(workspace).encode()))
    WebDriverWait(browser, 60).until(lambda _: browser.find_elements(By.CSS_SELECTOR, "#panel table"))
    assert not hints()
    browser.find_element(By.CSS_SELECTOR, "[data-key=yields]").click()
    WebDriverWait(browser, 60).until(lambda _: hints())
    heights = {row.size["height"] for row in browser.find_elements(By.CSS_SELECTOR, "#panel tbody tr")}
    assert max(heights) < 40, "a value and its uncertainty are in one line"
    keep(browser, "wide")


def test_files_and_archives_of_other_formats_are_analysed(browser, url):  # noqa: F811
    def summary(words):
        WebDriverWait(browser, 60).until(lambda _: words in browser.find_element(By.ID, "summary").text)

    browser.get(url)
    folder = FIXTURES / "build"
    drop(browser, *((name, (folder / name).read_bytes()) for name in ("trex.config", "histograms.root")))
    summary("parameter of interest")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, file in (("a.txt", "shapes.txt"), ("b.txt", "shapes.txt"), ("shapes.csv", "shapes.csv")):
            archive.add(FIXTURES / "cards" / file, f"cards/{name}")
    browser.refresh()
    drop(browser, ("cards.tar.gz", packed.getvalue()))
    message = WebDriverWait(browser, 60).until(
        lambda _: (found := browser.find_element(By.ID, "message")).is_displayed() and found.text)
    assert "cards/a.txt" in message and "several models" in message
    browser.find_element(By.ID, "member").send_keys("cards/b.txt\t")
    summary("parameter of interest r")
    keep(browser, "archive")
