# SPDX-License-Identifier: BSD-3-Clause
"""An engine of papermill that runs the cells of a notebook in this process.

A kernel is a second process, whose imports take longer than drawing most figures. Notebooks of a workflow need none,
since each is run by a separate process.
"""

import io
import sys
import tempfile
import warnings
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from nbformat.v4 import new_output
from papermill.engines import Engine
from traitlets.config import Config

LANGUAGE = {"name": "python", "pygments_lexer": "ipython3", "file_extension": ".py", "mimetype": "text/x-python"}
CONFIG = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}})


class OwnProcess(Engine):
    """Runs a notebook in this process; an exception in a cell stops it, and is the last output."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **_: object) -> None:
        """Run the cells of ``nb_man.nb`` in their order; papermill saves the notebook after each."""
        nb_man.nb.metadata.language_info = LANGUAGE
        state = sys.stdout, sys.stderr, sys.excepthook, sys.modules["__main__"]
        with tempfile.TemporaryDirectory(prefix="rbmbench-") as folder, warnings.catch_warnings():
            shell = _Shell.instance(ipython_dir=folder, config=CONFIG)
            try:
                for index, cell in enumerate(nb_man.nb.cells):
                    nb_man.cell_start(cell, index)
                    is_good = cell.cell_type != "code" or shell.run(cell)
                    if not is_good:
                        nb_man.cell_exception(cell, index)
                    nb_man.cell_complete(cell, index)
                    if not is_good:
                        break
            finally:
                _Shell.clear_instance()
                sys.stdout, sys.stderr, sys.excepthook, sys.modules["__main__"] = state


class _Hook(DisplayHook):
    """Adds the value of the last expression of a cell to the outputs of the cell."""

    start_displayhook = write_output_prompt = finish_displayhook = lambda self: None  # write nothing

    def write_format_data(self, format_dict: dict, md_dict: dict | None = None) -> None:
        """Add an output; see `IPython.core.displayhook`."""
        number = self.shell.execution_count
        output = new_output("execute_result", format_dict, metadata=md_dict or {}, execution_count=number)
        self.shell.outputs.append(output)


class _Publisher(DisplayPublisher):
    """Adds all displayed objects of a cell to the outputs of the cell."""

    def publish(self, data: dict, metadata: dict | None = None, **_: object) -> None:
        """Add an output; see `IPython.core.displaypub`."""
        self.shell.outputs.append(new_output("display_data", data, metadata=metadata or {}))

    def clear_output(self, wait: bool = False) -> None:
        """Remove the outputs of the cell."""
        self.shell.outputs.clear()


class _Stream(io.TextIOBase):
    """Standard output or error of a cell."""

    def __init__(self, name: str, outputs: list):
        self._name, self._outputs = name, outputs

    def write(self, text: str) -> int:
        """Append text to the last output if it is of this stream, or else add an output."""
        last = self._outputs[-1] if self._outputs else {}
        if last.get("name") == self._name:
            last.text += text
        elif text:
            self._outputs.append(new_output("stream", name=self._name, text=text))
        return len(text)


class _Shell(InteractiveShell):
    """An IPython shell that adds text, displayed objects and errors of a cell to the outputs of the cell."""

    displayhook_class, display_pub_class = _Hook, _Publisher
    outputs: list

    def run(self, cell: Any) -> bool:
        """Run a cell and return whether it succeeded; an interrupt is raised again."""
        self.outputs, cell.execution_count = cell.outputs, self.execution_count
        sys.stdout, sys.stderr = _Stream("stdout", self.outputs), _Stream("stderr", self.outputs)
        result = self.run_cell(cell.source, store_history=True)
        if isinstance(result.error_in_exec, KeyboardInterrupt):
            raise result.error_in_exec
        return result.success

    def _showtraceback(self, etype: type, evalue: BaseException, stb: list[str]) -> None:
        self.outputs.append(new_output("error", ename=etype.__name__, evalue=str(evalue), traceback=stb))
