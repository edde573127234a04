# SPDX-License-Identifier: BSD-3-Clause
"""A figure and a claim of the page of kept results, and access to its cards, for tests in a browser."""

import gzip
import json
import re
from base64 import b64decode

FIGURE, CLAIM = "paper/popcd_fig1", "popcd_1.fig1.a.k1"
USABLE = "performance.getEntriesByName('usable')[0]?.startTime"
"""JavaScript of the milliseconds until the scripts of a page had started; undefined before."""


def block_of(text):
    """Return the block of data in the text of a page, as JSON."""
    (packed,) = re.findall(r'<script type="application/gzip" id="data">(.*?)</script>', text)
    return gzip.decompress(b64decode(packed)).decode()


def data_of(page):
    """Return the block of data of a page in a browser."""
    return json.loads(block_of(page.content()))


def card(page, key=FIGURE):
    """Return the card of a figure or a table."""
    return page.locator(f"[id='{key}']")


def counted_in(page, key, name):
    """Select the quantity of the horizontal axis of a figure."""
    card(page, key).locator("select[name=counted]").select_option(name)


def wait_until(page, condition, seconds=30):
    """Wait until a condition in JavaScript is true.

    ``page.wait_for_function`` calls ``eval`` in each frame, which the page's policy forbids from the second on.
    """
    page.evaluate(
        f"""() => new Promise((resolve, reject) => {{
            const end = performance.now() + {1000 * seconds};
            const check = () => {{
                if ({condition}) resolve();
                else if (performance.now() > end) reject(new Error("not true after {seconds} seconds"));
                else requestAnimationFrame(check);
            }};
            check();
        }})"""
    )
