"""Sources that are compiled together: group_sources.py FOLDER PREFIX SIZE SOURCE... (relative to FOLDER, which lies in src/).

Reading libtorch's headers takes longer than compiling most of our files, so a translation unit includes up to SIZE of them. Two
files of a group must not define the same name in an unnamed namespace: such files are put into different groups. What this misses
is an error of the compiler that names both places. Prints the groups, a line each, as paths below src/ with semicolons between.
"""
import pathlib
import re
import sys

TYPE = re.compile(r"(?:struct|class|enum class|enum|union)\s+(\w+)\b(?!.*;\s*$)")
ALIAS = re.compile(r"using (\w+) =")
MACRO = re.compile(r"#\s*define\s+(\w+)")
VALUE = re.compile(r"[\w<][\w:<>&*, ]*?\b(\w+)\s*[({=\[;]")
CONSTANT = re.compile(r"(?:inline |static |thread_local )*const(?:expr|init)? .*?[ &*>](\w+)\s*[{=\[;]")
MACRO_CALL = re.compile(r"TSR_[A-Z_]+\((.*)\)")  # may declare its arguments
NOT_VALUES = ("using", "TEST", "struct", "class", "enum", "template", "TSR_", "INSTANTIATE", "TESSERA", "TORCH", "namespace")
BRACES = re.compile(r"namespace(\s+[\w:]+)?\s*\{|\{|\}")


def private_names(path):
    """What the file defines for itself at the scope of a namespace: types, aliases, functions, constants, macros."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    found, scopes = set(MACRO.findall(text)), []
    for line in text.split("\n"):
        if all(scope != "block" for scope in scopes):
            found.update(ALIAS.match(line).groups() if ALIAS.match(line) else ())
            found.update(re.findall(r"\w+", MACRO_CALL.match(line).group(1)) if MACRO_CALL.match(line) else ())
            if scopes and scopes[-1] == "unnamed":
                found.update(TYPE.match(line).groups() if TYPE.match(line) else ())
                found.update(re.findall(r"[ ,](k[A-Z]\w*)\s*[={\[]", line) if CONSTANT.match(line) else ())
                if not line.startswith(NOT_VALUES):
                    found.update(name for pattern in (CONSTANT, VALUE) for name in (pattern.match(line).groups() if pattern.match(line) else ()))
        for brace in BRACES.finditer(line):
            if brace.group(0) == "}":
                scopes and scopes.pop()
            elif brace.group(0) == "{":
                scopes.append("block")
            else:
                scopes.append("named" if brace.group(1) else "unnamed")
    return found


def main(folder, prefix, size, sources):
    groups = []
    for source in sources:
        names = private_names(pathlib.Path(folder) / source)
        place = next((group for group in groups if len(group["files"]) < size and not group["names"] & names), None)
        if place is None:
            groups.append(place := {"files": [], "names": set()})
        place["files"].append(f"{prefix}/{source}")
        place["names"] |= names
    for group in groups:
        print(";".join(group["files"]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])
