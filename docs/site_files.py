"""Put the files named in mkdocs.yml on the site, under their paths in the repository."""

from pathlib import Path

from mkdocs.structure.files import File


def on_files(files, config):
    """Replace what MkDocs found in ``docs/`` by the files that match ``extra.site_files``."""
    for found in [file for file in files if file.src_dir == config.docs_dir]:
        files.remove(found)
    root = Path(config.config_file_path).parent
    paths = {path for pattern in config.extra["site_files"] for path in root.glob(pattern) if path.is_file()}
    for path in sorted(paths):
        files.append(File.generated(config, path.relative_to(root).as_posix(), abs_src_path=str(path)))
    return files
