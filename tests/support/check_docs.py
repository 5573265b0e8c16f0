#!/usr/bin/env python3
"""What pages say of the code and of one another: check_docs.py ROOT

Code that docs/architecture.md quotes stands in src/ word for word, links lead to pages and headings that are there, and a note
that a comment names is written down once."""
import collections
import re
import sys
from pathlib import Path


def words(text):
    return " ".join(text.split())


def check_quotes(root):
    sources = [words(path.read_text()) for path in sorted((root / "src").rglob("*.cpp"))]
    page = (root / "docs/architecture.md").read_text()
    quotes = re.findall(r"```cpp\n(.*?)```", page, re.DOTALL)
    if not quotes:
        yield "docs/architecture.md quotes no code: this looks in the wrong place"
    for quote in quotes:
        if not any(words(quote) in source for source in sources):
            yield f"docs/architecture.md quotes code that src/ does not have:\n{quote}"


def anchor(heading):
    plain = re.sub(r"[^\w\s-]", "", heading.strip().lower())
    return re.sub(r"\s", "-", plain)


def check_links(root):
    for page in [*sorted((root / "docs").glob("*.md")), *sorted(root.glob("*.md"))]:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, heading = link.partition("#")
            target = page.parent / name if name else page
            if not target.exists():
                yield f"{page.relative_to(root)}: nothing is at {link}"
            elif heading and heading not in map(anchor, re.findall(r"^#+\s+(.*)$", target.read_text(), re.MULTILINE)):
                yield f"{page.relative_to(root)}: {link} leads to no heading"


def check_notes(root):
    """A note begins on a line of its own, or a comment with its name in front of what it says."""
    written, named = collections.Counter(), {}
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cpp", ".cu"):
            continue
        text = path.read_text()
        written.update(re.findall(r"^\s*// Note \[([^\]]+)\](?=$| [A-Z])", text, re.MULTILINE))
        written.update(re.findall(r"[.;] Note \[([^\]]+)\]:", text))
        for note in re.findall(r"Note \[([^\]]+)\]", re.sub(r"\n\s*// ", " ", text)):
            named.setdefault(note, path)
    for note, path in named.items():
        if '"' not in note and written[note] != 1:
            yield f"{path.relative_to(root)}: Note [{note}] is written down {written[note]} times"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1]).resolve()
    complaints = [*check_quotes(root), *check_links(root), *check_notes(root)]
    sys.stderr.write("".join(text + "\n" for text in complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
