"""Fails when two headers define different types under one name: what the compiler made of one of them may then be linked into code of the
other, and memory is read in the wrong shape. Every header below the given folder counts, whichever programs link it."""
import collections
import pathlib
import re
import sys

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
TOKEN = re.compile(r"\bnamespace\s*(?P<space>[\w:]*)\s*\{"
                   r"|(?<![\w<,] )\b(?:struct|class|union|enum(?:\s+class)?)\s+(?P<type>\w+)\s*(?:final\s*)?(?::(?!:)[^{;()]*)?\{"
                   r"|\{|\}")


def types_of(text):
    """Names of the types that stand in namespaces alone, with their namespaces; those of unnamed ones are a source's own."""
    open_braces = []
    for found in TOKEN.finditer(COMMENT_OR_TEXT.sub(" ", text)):
        if found["space"] is not None:
            open_braces.append(found["space"] or None)
        elif found[0] == "}":
            del open_braces[-1:]
        else:
            if found["type"] and all(open_braces):
                yield "::".join([*open_braces, found["type"]])
            open_braces.append("")  # not a namespace: what stands inside is not looked at


def main(root):
    places = collections.defaultdict(list)
    for path in sorted(pathlib.Path(root).rglob("*.h")):
        for name in set(types_of(path.read_text())):
            places[name].append(path.relative_to(root))
    twice = {name: paths for name, paths in places.items() if len(paths) > 1}
    for name, paths in twice.items():
        print(f"{name} is defined in {' and '.join(map(str, paths))}: give one of them another name")
    print(f"{len(places)} types")
    return 1 if twice or not places else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
