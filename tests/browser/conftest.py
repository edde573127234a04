# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the page of the kept results in chromium, driven by playwright."""

import shutil

import pytest
from browser_page import FIGURE, USABLE, wait_until

from rbmbench.cli.making import shown_folders
from rbmbench.reporting.page.html import write_report

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def file(repository, tmp_path_factory):
    page = tmp_path_factory.mktemp("page") / "report.html"
    write_report(shown_folders(repository / "results" / "reference"), page, repository / "config" / "config.yaml")
    return page


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        # Chromium's sandbox cannot be used as root.
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser, file):
    """Return a function that opens the page; requests of other addresses and messages on the console fail the test."""
    contexts, messages, addresses = [], [], []

    def open_page(hash="", **options):
        options = {"viewport": {"width": 1400, "height": 900}, "accept_downloads": True} | options
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: addresses.append(request.url))
        page.goto(f"file://{file}{hash}")
        if options.get("java_script_enabled", True):
            wait_until(page, USABLE)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert messages == []
    assert {url for url in addresses if not url.startswith(("file:", "data:", "blob:"))} == set()


@pytest.fixture
def drawn(opened):
    page = opened(f"#{FIGURE}")
    page.wait_for_selector(f"[id='{FIGURE}'] canvas")
    return page
