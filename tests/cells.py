"""Run a notebook cell by cell in a process that has imported most libraries by now, and starts at once."""

import asyncio
import contextlib
import gc
import io
import multiprocessing
import os
import warnings

import nbformat

# Processes are forked from one that has imported these, and share nothing else.
PRELOADED = [
    *("IPython.core.interactiveshell", "matplotlib.pyplot", "matplotlib_inline.backend_inline", "nbformat"),
    *(
        "langchain_advchunk.splitters",
        "llamaindex_advchunk.node_parsers",
        "langchain_chroma",
        "qdrant_client",
        "sklearn.cluster",
    ),
]
FORKS = multiprocessing.get_context("forkserver")


def execute(path, folder):
    """Return a notebook with its outputs, run in a new process in a folder, without what it writes to stderr."""
    FORKS.set_forkserver_preload(PRELOADED)
    receiver, sender = FORKS.Pipe(duplex=False)
    with receiver, sender:
        process = FORKS.Process(target=_run, args=(path, str(folder), sender))
        process.start()
        sender.close()
        outputs = receiver.recv()
        process.join()
    notebook = nbformat.read(path, as_version=4)
    for cell, own in zip(notebook.cells, outputs, strict=True):
        cell.outputs = own
        assert not own or own[-1].output_type != "error", own[-1].evalue
    return notebook


def _run(path, folder, sender):
    """Send the outputs of the cells."""
    gc.freeze()  # the collector need not pass over all that is imported
    os.chdir(folder)
    os.environ.update(IPYTHONDIR=folder, MPLCONFIGDIR=folder)
    sender.send(asyncio.run(_outputs(nbformat.read(path, as_version=4).cells)))


async def _outputs(cells):
    """Run the cells as a Jupyter kernel does: one after the other, while an event loop runs."""
    results, outputs = [], []
    shell = _shell(outputs)
    warnings.filterwarnings("error", r"\w*advchunk", DeprecationWarning)  # of ours
    for cell in cells:
        if cell.cell_type == "code":
            with contextlib.redirect_stdout(Printed(outputs)), contextlib.redirect_stderr(io.StringIO()):
                source = shell.transform_cell(cell.source)
                result = await shell.run_cell_async(cell.source, store_history=True, transformed_cell=source)
                shell.events.trigger("post_execute")
                shell.events.trigger("post_run_cell", result)
            if error := result.error_before_exec or result.error_in_exec:
                outputs.append(nbformat.v4.new_output("error", ename=type(error).__name__, evalue=repr(error)))
        results.append(outputs.copy())
        outputs.clear()
    return results


class Printed(io.TextIOBase):
    """What a cell prints, between what it shows."""

    def __init__(self, outputs):
        self._outputs = outputs

    def write(self, text):
        if text:
            if not (self._outputs and self._outputs[-1].output_type == "stream"):
                self._outputs.append(nbformat.v4.new_output("stream", text=""))
            self._outputs[-1].text += text
        return len(text)


def _shell(outputs):
    """Return a shell that appends what cells show to ``outputs``."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type
    from traitlets.config import Config

    class Displayed(DisplayPublisher):
        def publish(self, data, metadata=None, **_):
            outputs.append(nbformat.v4.new_output("display_data", data=data))

    class Result(DisplayHook):
        def write_output_prompt(self):
            """Print no number."""

        def write_format_data(self, format_dict, md_dict=None):
            outputs.append(nbformat.v4.new_output("execute_result", data=format_dict))

    class Shell(InteractiveShell):
        displayhook_class = Type(Result)
        display_pub_class = Type(Displayed)

        def enable_gui(self, gui=None):
            """Have no windows."""

    shell = Shell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.enable_matplotlib("inline")
    return shell
