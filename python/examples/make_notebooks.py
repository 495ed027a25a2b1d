# SPDX-License-Identifier: Apache-2.0
"""Writes the notebooks of this folder from the scripts beside them: `# %%` begins a cell of code,
`# %% [markdown]` one of text."""

import json
from pathlib import Path


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


def main() -> None:
    for script in sorted(Path(__file__).parent.glob("*.py")):
        if script.name == Path(__file__).name:
            continue
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        notebook = {"cells": cells_of(script.read_text()), "metadata": {"kernelspec": kernel},
                    "nbformat": 4, "nbformat_minor": 5}
        script.with_suffix(".ipynb").write_text(json.dumps(notebook, indent=1) + "\n")


if __name__ == "__main__":
    main()
