"""Executes notebooks without Jupyter: the cells in order, in this process.

    python notebooks.py NOTEBOOK.ipynb            executes the notebook
    python notebooks.py NOTEBOOK.ipynb --write    also stores the outputs in the file
"""

import argparse
import ast
import contextlib
import io
import json
import pathlib


def read(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def execute(notebook):
    """Executes all cells. Returns the outputs of each code cell, as the format of notebooks has them."""
    names = {"__name__": "__main__"}
    cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    return [executed("".join(cell["source"]), number, names) for number, cell in enumerate(cells, 1)]


def executed(source, number, names):
    """Executes a cell. The value of an expression at its end is an output, as in Jupyter."""
    # The name of the file appears in the tools' outputs, because they name lines of Python.
    file = f"cell {number}"
    module = ast.parse(source, file)
    last = module.body.pop() if module.body and isinstance(module.body[-1], ast.Expr) else None
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(compile(module, file, "exec"), names)
        value = eval(compile(ast.Expression(last.value), file, "eval"), names) if last else None
    outputs = []
    if stream.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": stream.getvalue().splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append({"output_type": "execute_result", "execution_count": number, "data": data, "metadata": {}})
    return outputs


def write(path, notebook, outputs):
    """Stores the outputs of all code cells in the file."""
    cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    for number, (cell, found) in enumerate(zip(cells, outputs, strict=True), 1):
        cell["execution_count"], cell["outputs"] = number, found
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    pathlib.Path(path).write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebook")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    notebook = read(options.notebook)
    outputs = execute(notebook)
    if options.write:
        write(options.notebook, notebook, outputs)


if __name__ == "__main__":
    main()
