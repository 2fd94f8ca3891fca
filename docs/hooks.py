"""What mkdocs adds to the documents: pages to play with, notebooks, Python names, and files outside docs/.

The documents are written to be read in a Git view as well. There a list may follow a sentence directly, and
links lead to files of the repository. This module turns both into what mkdocs knows.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
"""Documents beside the README that are pages of the site, too."""
PLAYED = tuple(sorted(path.stem for path in (ROOT / "results" / "gallery").glob("*.json")))
"""Policies of the gallery: each gets its explain page."""
BOOSTS = {"howto.md": 4.0, "faq.md": 2.0, "start.md": 2.0, "guide.md": 1.5, "tutorials/": 1.5}
BOOSTS |= {"tuning.md": 1.5, "strangers.md": 0.5, "api": 0.3}
"""How much pages count in the search, by the beginning of their path; others count 1."""
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
PICTURE = re.compile(r'src="(?!https?:)([^"]+)"')
BLOCK = re.compile(r"^\s*([-*] |\d+\. |\|)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages and files that are not in docs/."""
    from mkdocs.structure.files import File

    for name in PAGES:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for path in sorted(linked_files()):
        files.append(File.generated(config, in_site(path), abs_src_path=str(ROOT / path)))
    notebooks = script("notebooks")
    for path in notebooks.tutorials():
        content = notebooks.notebook(path)
        files.append(File.generated(config, f"tutorials/{path.stem}.ipynb", content=content))
    for group, names in script("api").public_names().items():
        files.append(File.generated(config, f"api/{group_page(group)}", content=group_text(group, names)))
    for name, content in explain_pages().items():
        files.append(File.generated(config, f"pages/{name}.html", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return the text of a page as mkdocs wants it."""
    source = page.file.src_uri
    text = with_blank_lines(with_links(markdown, source)).replace("<details>", "<details markdown>")
    text = re.sub(r"<!-- page (\S+) -->", lambda found: alive(found[1]), text)
    notebook = source.removesuffix(".md") + ".ipynb"
    if files.get_file_from_path(notebook) is not None:
        link = f"\\1\n[This page as a notebook]({Path(notebook).name}){{ .md-button }}\n"
        text = re.sub(r"\A(# .*\n)", link, text)
    page.meta["search"] = {"boost": boost(source)}
    if source == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
    if source == "api.md":
        text = re.sub(r"^\| `(\w+)([^`]*)`", with_reference, text, flags=re.MULTILINE)
    if source == "gallery.md":
        text = re.sub(r"^## (.+)$", lambda found: found[0] + play(found[1], files), text, flags=re.MULTILINE)
    return text


def boost(source: str) -> float:
    """Return how much a page counts in the search: people look for what to do first."""
    if source in PAGES:
        return 0.3
    return next((value for beginning, value in BOOSTS.items() if source.startswith(beginning)), 1.0)


def with_reference(row: re.Match[str]) -> str:
    """Return the first cell of a row of names, linked to what docstrings say of the name."""
    homes = {name: home for names in script("api").public_names().values() for name, home in names.items()}
    name, rest = row.groups()
    return f"| [`{name}`][{homes[name]}.{name}]`{rest}`".removesuffix("``") if name in homes else row[0]


def alive(name: str) -> str:
    """Return the explain page of a policy of the gallery, embedded."""
    return (
        f"The page of the policy for {name}, alive: point at rules, drag sliders, step through episodes "
        f"([on its own](pages/{name}.html)).\n\n"
        f'<iframe class="alive" src="pages/{name}.html" title="The explain page of {name}" loading="lazy">'
        "</iframe>\n"
    )


def play(name: str, files: Any) -> str:
    """Return the link to the explain page of a policy of the gallery, or how to make the page."""
    if files.get_file_from_path(f"pages/{name}.html") is not None:
        return f"\n[Play with this policy](pages/{name}.html){{ .md-button }}\n"
    return (
        "\n*No page to play with: this site was built without the package that the environment needs.* "
        f"`ifthen explain results/gallery/{name}.json --out explained` *makes it.*\n"
    )


def explain_pages() -> dict[str, str]:
    """Return the explain pages of the gallery's policies by name, where their environments are installed."""
    import ifthen

    pages: dict[str, str] = {}
    for name in PLAYED:
        path = ROOT / "results" / "gallery" / f"{name}.json"
        ruleset, _ = ifthen.read_ruleset(path)
        try:
            task = ifthen.task_by_name(name)
        except ifthen.errors.TaskError as missing:  # LunarLander needs Box2D
            print(f"no page for {name}: {missing}")
            continue
        pages[name] = ifthen.explain_page(ruleset, task, model=f"results/gallery/{name}.json")
    return pages


def group_page(group: str) -> str:
    """Return the file of a group of Python names."""
    return group.lower().replace(" ", "-") + ".md"


def group_text(group: str, names: dict[str, str]) -> str:
    """Return the page of a group of Python names: mkdocstrings fills it from docstrings."""
    if group == "Systems":
        return systems_text(names)
    return f"# {group}\n\n" + "\n\n".join(f"::: {home}.{name}" for name, home in names.items()) + "\n"


def systems_text(names: dict[str, str]) -> str:
    """Return the page of systems: what all have stands once, and parameters have a page of their own."""
    api = script("api")
    members = ", ".join(name for name in api.OF_SYSTEMS if hasattr(api.ifthen.System, name))
    parts = [
        "# Systems\n\nEvery system takes what `System` takes, and [parameters](../parameters.md) of its own.",
        f"::: {names['System']}.System\n    options:\n      members: [{members}]",
    ]
    for name, home in names.items():
        if name != "System":
            parts.append(
                f"::: {home}.{name}\n    options: {{members: false, show_docstring_parameters: false}}"
            )
            anchor = getattr(api.ifthen, name).name.lower()
            parts.append(f"[Parameters](../parameters.md#{anchor}) · [How it works](../systems.md)")
    return "\n\n".join(parts) + "\n"


def linked_files() -> set[str]:
    """Return the files outside docs/ that documents link to, by their path in the repository."""
    found = {
        target
        for document in DOCS.glob("**/*.md")
        for pattern in (LINK, PICTURE)
        for target in (leads_to(link[1], document.parent) for link in pattern.finditer(document.read_text()))
    }
    return {path for path in found if path is not None and (ROOT / path).is_file() and path not in PAGES}


def leads_to(link: str, folder: Path) -> str | None:
    """Return the path in the repository that a link leads to, unless it is inside docs/."""
    path = (folder / link).resolve()
    if path.is_relative_to(DOCS) or not path.is_relative_to(ROOT):
        return None
    return path.relative_to(ROOT).as_posix()


def in_site(path: str) -> str:
    """Return where a file of the repository lies in the site."""
    return path if path in PAGES else f"files/{path}"


def with_links(text: str, source: str) -> str:
    """Return a page with links that lead where files lie in the site; folders outside docs/ lose theirs."""
    up = "../" * source.count("/")
    folder = ROOT if source in PAGES else (DOCS / source).parent

    def moved(link: re.Match[str]) -> str:
        target, anchor = link[1], link[2] or ""
        path = (folder / target).resolve()
        if path.is_relative_to(DOCS):
            inside = path.relative_to(DOCS).as_posix() if source in PAGES else target
            return f"]({inside}{anchor})"
        outside = leads_to(target, folder)
        if outside == "README.md":
            return f"]({up}index.md)"
        return f"]({up}{in_site(outside)}{anchor})" if outside and (ROOT / outside).is_file() else "](.)"

    def shown(picture: re.Match[str]) -> str:
        outside = leads_to(picture[1], folder)
        return f'src="{up}{in_site(outside)}"' if outside else picture[0]

    return PICTURE.sub(shown, re.sub(r"\[([^\[\]]*)\]\(\.\)", r"\1", LINK.sub(moved, text)))


def with_blank_lines(text: str) -> str:
    """Return a text in which a blank line stands before every list and table, and four spaces nest lists."""
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        before = lines[-1] if lines else ""
        starts = BLOCK.match(line) and before.strip() and not BLOCK.match(before)
        if not fenced and starts and not before.startswith((" ", "\t")):
            lines.append("")
        if not fenced and re.match(r" {2,3}[-*] ", line):
            lines.append("    " + line.lstrip())
        else:
            lines.append(line)
        fenced ^= line.lstrip().startswith("```")
    return "\n".join(lines) + "\n"


def script(name: str) -> ModuleType | Any:
    """Return a script of this folder as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
