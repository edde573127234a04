"""What a release rests on: metadata, links, licences, the recipe of the container, the jobs of the repository's host."""

import re
import shlex

from rbmbench.cli.parser import parser


def test_the_container_copies_and_runs_what_is_there(repository):
    text = (repository / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    copied = [word for name, rest in steps if name == "COPY" for word in shlex.split(rest)[:-1]]
    assert copied == ["requirements.lock", "."]
    named = re.findall(r"/opt/rbmbench/([\w./]+)", text)
    assert {"Snakefile", "config/smoke.yaml"} <= set(named)
    assert [name for name in named if not (repository / name).is_file()] == []
    left_out = (repository / ".dockerignore").read_text("utf-8").split()
    assert [name for name in left_out if name in ("src", "workflow", "config", "notebooks", "profiles", ".git")] == []
    assert "rbmbench doctor" in text
    parser().parse_args(["doctor"])
