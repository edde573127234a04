# SPDX-License-Identifier: BSD-3-Clause
"""Give the package README.md as its description, with links that also hold outside of the repository."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

LINK = re.compile(r"(!?\[[^]]*\]\()(?!https?:|#)([^)\s]+\))")


def absolute(text: str, repository: str, version: str) -> str:
    """Return Markdown whose relative links and images lead to the tag of a version in the repository."""

    def address(found: re.Match) -> str:
        view = "raw" if found[1].startswith("!") else "blob"
        return f"{found[1]}{repository}/{view}/v{version}/{found[2]}"

    return LINK.sub(address, text)


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    readme = Path("README.md").read_text(encoding="utf-8")
    setup(
        long_description=absolute(readme, project["urls"]["Repository"], project["version"]),
        long_description_content_type="text/markdown",
    )
