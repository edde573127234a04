# SPDX-License-Identifier: BSD-3-Clause
"""Put the files named in mkdocs.yml on the site, under their paths in the repository, and the page of all results."""

from pathlib import Path

from mkdocs.structure.files import File

from rbmbench.cli.making import shown_folders
from rbmbench.reporting.page.html import write_report


def on_files(files, config):
    """Replace what MkDocs found in ``docs/`` by the files that match ``extra.site_files``."""
    for found in [file for file in files if file.src_dir == config.docs_dir]:
        files.remove(found)
    root = Path(config.config_file_path).parent
    paths = {path for pattern in config.extra["site_files"] for path in root.glob(pattern) if path.is_file()}
    for path in sorted(paths):
        files.append(File.generated(config, path.relative_to(root).as_posix(), abs_src_path=str(path)))
    return files


def on_post_build(config):
    """Write the page that shows all kept results."""
    root = Path(config.config_file_path).parent
    page = Path(config.site_dir) / "report.html"
    write_report(shown_folders(root / "results" / "reference"), page, root / "config" / "config.yaml")
