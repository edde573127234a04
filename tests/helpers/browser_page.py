# SPDX-License-Identifier: BSD-3-Clause
"""A figure of the page of kept results, and a claim on it, for the tests in a browser."""

FIGURE, CLAIM = "paper/popcd_fig1", "popcd_1.fig1.a.k1"


def card(page, key=FIGURE):
    """Return the card of a figure or a table."""
    return page.locator(f"[id='{key}']")


def counted_in(page, key, name):
    """Choose what the horizontal axis of a figure counts."""
    card(page, key).locator("select[name=counted]").select_option(name)
