# SPDX-License-Identifier: BSD-3-Clause
"""Registry: names, options and lazy imports of parts."""

import re
import sys

import pytest

from rbmbench.base.errors import SettingsError, unknown_name
from rbmbench.base.registry import Registry

FILES = {
    "__init__.py": "from rbmbench.base.registry import Registry\nREGISTRY = Registry(__name__, 'fruit')\n",
    "apple.py": "from orchard import REGISTRY\n\n@REGISTRY.register\nclass Apple:\n"
    "    def __init__(self, size: int = 3, *, colour='red', _hidden=0):\n"
    "        self.size, self.colour = size, colour\n",
    "pear.py": "from orchard import REGISTRY\n\n@REGISTRY.register\ndef pear(ripe=True):\n    return ('pear', ripe)\n",
    "melon.py": "from orchard import REGISTRY\n\n@REGISTRY.register\ndef melon(weight):\n    return weight\n",
    "broken.py": "raise RuntimeError('imported')\n",
    "_private.py": "raise RuntimeError('imported')\n",
}


@pytest.fixture
def registry(tmp_path, monkeypatch):
    (tmp_path / "orchard").mkdir()
    for name, text in FILES.items():
        (tmp_path / "orchard" / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    for module in [name for name in sys.modules if name.partition(".")[0] == "orchard"]:
        monkeypatch.delitem(sys.modules, module)
    yield __import__("orchard").REGISTRY
    for module in [name for name in sys.modules if name.partition(".")[0] == "orchard"]:
        del sys.modules[module]


def test_names_lists_the_files_without_importing_them(registry):
    assert registry.names() == ["apple", "broken", "melon", "pear"]
    assert "orchard.apple" not in sys.modules


def test_excluded_modules_are_not_listed(registry):
    others = Registry("orchard", "fruit", exclude=("pear",))
    assert others.names() == ["apple", "broken", "melon"]
    with pytest.raises(SettingsError, match="unknown fruit 'pear'"):
        others.create("pear")


def test_get_imports_only_the_named_part(registry):
    assert registry.get("apple").__name__ == "Apple"
    assert "orchard.apple" in sys.modules
    assert "orchard.pear" not in sys.modules


def test_options_are_keyword_arguments(registry):
    apple = registry.create("apple", {"colour": "green"})
    assert (apple.size, apple.colour) == (3, "green")
    assert registry.create("pear") == ("pear", True)
    assert registry.create("pear", {"ripe": False}) == ("pear", False)


def test_a_new_file_is_listed_at_once(registry, tmp_path):
    (tmp_path / "orchard" / "quince.py").write_text(FILES["pear.py"].replace("pear", "quince"))
    assert "quince" in registry.names()
    assert registry.create("quince") == ("quince", True)


@pytest.mark.parametrize(
    ("name", "options", "line"),
    [
        ("aple", {}, "unknown fruit 'aple'; nearest: 'apple'; allowed: apple, broken, melon, pear"),
        ("_private", {}, "unknown fruit '_private'; allowed: "),
        ("apple", {"sise": 1}, "fruit 'apple': unknown option 'sise'; nearest: 'size'; allowed: colour, size"),
        ("apple", {"_hidden": 1}, "fruit 'apple': unknown option '_hidden'; allowed: "),
        ("melon", {}, "fruit 'melon': option 'weight' must be given, got nothing"),
    ],
)
def test_errors_of_unknown_names_and_options_name_the_nearest(registry, name, options, line):
    with pytest.raises(SettingsError, match=rf"\A{re.escape(line)}[^\n]*\Z"):
        registry.create(name, options)


def test_options_and_summary_of_a_part(registry, tmp_path):
    assert registry.options("apple") == {"size": 3, "colour": "red"}
    (tmp_path / "orchard" / "plum.py").write_text(f'"""A plum,\nripe.\n\nMore."""\n{FILES["pear.py"]}')
    assert registry.summary("plum") == "A plum, ripe."


@pytest.mark.parametrize(
    ("name", "allowed", "nearest"),
    [
        ("learning_rate", ("evaluate_at", "rate"), "; nearest: 'rate'"),
        ("k", ("test_likelihood", "trials"), ""),
        ("steps", ("k", "chains"), "; nearest: 'k'"),
        ("steps", ("step", "chains"), "; nearest: 'step'"),
    ],
)
def test_errors_of_names_of_other_libraries_name_the_equivalent(name, allowed, nearest):
    assert unknown_name("key", name, allowed) == f"unknown key {name!r}{nearest}; allowed: {', '.join(sorted(allowed))}"
