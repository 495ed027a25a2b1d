# SPDX-License-Identifier: Apache-2.0
"""Hook of mkdocs.yml: links of pages to files outside docs/ become copies of these files in the site.

Also adds a page with the functions and classes of the Python package, from their docstrings, and one that leads to
the pages of the C++ headers, which Doxygen writes to cpp/.
"""

import pathlib
import posixpath
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
CPP_API = """# C++ API

The headers of `lime::core`, `lime::checkpoint`, `lime::store`, `lime::metrics` and `lime::analysis`:

- <a href="cpp/namespacelime.html">Namespace `lime`</a>: all classes and functions
- <a href="cpp/files.html">Headers by folder</a>, with their sources

Guide: [installation](install.md#cmake-project), [architecture](architecture.md).
"""
LINK = re.compile(r"\]\((\.\./[\w./-]+)(#[\w-]+)?\)")


def outside(link, page):
    """Returns the path in the repository of a link that leaves docs/, or None."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    return None if path.startswith("docs/") or not (ROOT / path).is_file() else path


def on_files(files, config):
    """Adds the files outside docs/ that pages link to, below repository/."""
    wanted = set()
    for file in files.documentation_pages():
        text = pathlib.Path(file.abs_src_path).read_text(encoding="utf-8")
        wanted |= {outside(match[1], file.src_uri) for match in LINK.finditer(text)}
    for name in sorted(wanted - {None}):
        text = (ROOT / name).read_text(encoding="utf-8")
        if name.endswith(".md"):  # its links are relative to another folder
            text = re.sub(r"\]\((?!\w+:|#)[^)]*\)", "]", text)
        files.append(File.generated(config, f"repository/{name}", content=text))
    names = re.search(r"__all__ = \[(.*?)\]", (ROOT / "python/lime_toolkit/__init__.py").read_text(), re.S)[1]
    api = "# Python API\n\nGuide: [python.md](python.md).\n"
    for name in re.findall(r'"(\w+)"', names):
        if not name.startswith("_") and name != "RunningStatistics":  # compiled, has no source in Python
            api += f"\n::: lime_toolkit.{name}\n"
    files.append(File.generated(config, "python_api.md", content=api))
    files.append(File.generated(config, "cpp_api.md", content=CPP_API))
    return files


def on_page_markdown(markdown, page, config, files):
    """Points these links to the copies."""
    def replaced(match):
        name = outside(match[1], page.file.src_uri)
        if not name:
            return match[0]
        copy = posixpath.relpath(f"repository/{name}", posixpath.dirname(page.file.src_uri) or ".")
        return f"]({copy}{match[2] or ''})"
    return LINK.sub(replaced, markdown)
