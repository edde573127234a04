# SPDX-License-Identifier: BSD-3-Clause
# Places of the files of the workflow: below the working directory if they exist there, else beside workflow/.

from contextlib import suppress
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.sourcecache import LocalSourceFile

SOURCE = workflow.current_basedir.join("../..")


def of_source(path):
    """Return a file or folder of the workflow's source; a file of a repository elsewhere is fetched for it."""
    file = SOURCE.join(path)
    if isinstance(SOURCE, LocalSourceFile):
        return os.path.normpath(file.get_path_or_uri(secret_free=True))
    return workflow.sourcecache.get_path(file)


def file_of(path):
    """Return the file of the working directory if it exists, else that of the source."""
    return path if os.path.exists(path) else of_source(path)


def configured_by():
    """Return config.yaml, with the other files of the configuration beside it: the user's if there is one.

    A module with values of its caller takes the user's files only if there are papers among them, since
    config/config.yaml may belong to the workflow that uses the module.
    """
    file, has_values = "config/config.yaml", workflow.modifier.skip_configfile
    return file if os.path.exists(file) and not (has_values and not os.path.isdir("config/papers")) else of_source(file)


def fetch_papers(keys):
    """Put the files of papers and studies beside a config.yaml that was fetched."""
    if isinstance(SOURCE, LocalSourceFile) or not os.path.isabs(CONFIG):
        return
    for name in [name.format(key) for key in keys for name in ("papers/{}.yaml", "{}.yaml", "claims/{}.yaml")]:
        with suppress(WorkflowError):  # a paper has the first, a study the second
            of_source(f"config/{name}")


CONFIG = configured_by()
