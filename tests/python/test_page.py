"""The server's page in a browser: Chromium without a window, driven by Selenium."""

from __future__ import annotations

import os
import pathlib
import shutil

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
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium")
    if driver is None or chromium is None:
        pytest.skip("NOT TESTED: the page needs chromium and chromedriver")
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


def test_a_dropped_workspace_is_analysed(browser, url):  # noqa: F811
    def wait(condition):
        return WebDriverWait(browser, 120).until(lambda _: condition())

    def find(selector):
        return browser.find_elements(By.CSS_SELECTOR, selector)

    def tab(key):
        find(f"[data-key={key}]")[0].click()

    browser.get(url)
    # A drop is a file in a DataTransfer; the text comes from the test because pages cannot read files by name.
    drop = """
        const transfer = new DataTransfer();
        transfer.items.add(new File([arguments[0]], arguments[1]));
        document.getElementById("drop").dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true}));
    """
    file = workspace()
    browser.execute_script(drop, file.read_text(), file.name)
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

    browser.execute_script(drop, '{"channels": []}', "broken.json")
    wait(lambda: find("#message")[0].is_displayed())
    assert "/model/workspace" in find("#message")[0].text
    severe = [line["message"] for line in browser.get_log("browser") if line["level"] == "SEVERE"]
    assert all("422" in line for line in severe), severe
