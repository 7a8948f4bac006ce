"""A real browser for the tests of pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NOT_THE_ENGINE = "a sanitizer that is loaded into the engine would be loaded into the browser too"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if BROWSER is None:
        pytest.skip("the page needs a browser: install chromium")
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip(NOT_THE_ENGINE)
    sync_api = pytest.importorskip("playwright.sync_api", reason="the page's tests need playwright: pip install 'fasttree[test]'")
    with sync_api.sync_playwright() as playwright:
        # as root, which containers of tests are, Chromium only starts without its sandbox
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open a page; at the end nothing may have been asked of a network, and nothing may have been complained of."""
    complaints: list[str] = []
    contexts = []

    def open_page(document: str, **options: Any) -> Any:
        context = browser.new_context(**{"reduced_motion": "reduce", "viewport": {"width": 1280, "height": 800}} | options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url.startswith(("file:", "data:", "blob:")) or complaints.append(request.url))
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(document, encoding="utf-8")
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
