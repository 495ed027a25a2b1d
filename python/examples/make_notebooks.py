# SPDX-License-Identifier: Apache-2.0
"""Writes the notebooks of this folder from the scripts beside them: `# %%` begins a cell of code,
`# %% [markdown]` one of text.

    python3 make_notebooks.py             keeps the outputs of cells that did not change
    python3 make_notebooks.py --execute [NAME ...]    runs them and stores their outputs; needs nbclient and ipykernel
"""

import argparse
import json
from pathlib import Path

FOLDER = Path(__file__).parent


def cells_of(script: str) -> list[dict]:
    cells = []
    for number, part in enumerate(script.split("# %%")[1:]):
        head, _, body = part.partition("\n")
        lines = body.strip().splitlines(keepends=True)
        if "[markdown]" in head:
            lines = [line.removeprefix("# ").removeprefix("#") for line in lines]
            cells.append({"cell_type": "markdown", "id": f"c{number}", "metadata": {}, "source": lines})
        else:
            cells.append({"cell_type": "code", "id": f"c{number}", "metadata": {}, "source": lines,
                          "execution_count": None, "outputs": []})
    return cells


def kept_outputs(notebook: Path) -> dict[str, tuple]:
    """Returns the outputs of the cells of a stored notebook, by their code."""
    if not notebook.exists():
        return {}
    cells = json.loads(notebook.read_text())["cells"]
    return {"".join(cell["source"]): (cell["execution_count"], cell["outputs"]) for cell in cells if "outputs" in cell}


def execute(notebook: Path) -> None:
    """Runs a notebook in this folder and stores its outputs, without times and names of the machine."""
    import nbclient
    import nbformat

    content = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(content, timeout=1800, resources={"metadata": {"path": str(FOLDER)}}).execute()
    for cell in content["cells"]:
        cell["metadata"] = {}
        # Progress and warnings are those of one machine.
        if "outputs" in cell:
            cell["outputs"] = [one for one in cell["outputs"] if one.get("name") != "stderr"]
            for one in cell["outputs"]:
                if "text/html" in one.get("data", {}):
                    del one["data"]["text/plain"]  # may have paths of the machine
    content["metadata"] = {"kernelspec": content["metadata"]["kernelspec"]}
    text = nbformat.writes(content)
    notebook.write_text(json.dumps(json.loads(text), indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--execute", nargs="*", metavar="NAME")
    options = parser.parse_args()
    for script in sorted(FOLDER.glob("*.py")):
        if script.name == Path(__file__).name:
            continue
        path = script.with_suffix(".ipynb")
        outputs = kept_outputs(path)
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        cells = cells_of(script.read_text())
        for cell in cells:
            if "outputs" in cell:
                cell["execution_count"], cell["outputs"] = outputs.get("".join(cell["source"]), (None, []))
        notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        path.write_text(json.dumps(notebook, indent=1, sort_keys=True) + "\n")
        if options.execute is not None and (not options.execute or script.stem in options.execute):
            execute(path)
            stored = json.loads(path.read_text())
            path.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
