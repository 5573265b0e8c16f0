#!/usr/bin/env python3
"""What the build leaves alone still compiles: check_programs.py BUILD

Programs of bench/ and fuzz targets are built on demand, and scripts only run where somebody runs them; so each is compiled here,
which finds what a change elsewhere broke. C++ stops before any code is made, and Python makes no files."""
import ast
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def bench_commands(build):
    """How the build would compile the programs of bench/, without an output."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if Path(entry["file"]).parent != ROOT / "bench":
            continue
        words = shlex.split(entry["command"])
        out = words.index("-o")
        yield words[:out] + words[out + 2:]


def fuzz_commands(build):
    """As scripts/fuzz compiles its targets, whatever the compiler."""
    folders = [ROOT / "src", ROOT / "tests/fuzz", build / "src/data"]
    for source in sorted((ROOT / "tests/fuzz").glob("fuzz_*.cpp")):
        yield ["c++", "-std=c++20", "-DFMT_HEADER_ONLY", *(f"-I{folder}" for folder in folders), str(source)]


def check_cpp(words, build):
    """The compiler's complaints of a source."""
    done = subprocess.run([*words, "-fsyntax-only"], cwd=build, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr


def check_python(path):
    try:
        ast.parse(path.read_bytes(), str(path))
    except SyntaxError as error:
        return f"{path}: {error}\n"
    return ""


def is_python(path):
    if path.suffix == ".py":
        return True
    with path.open("rb") as file:
        return path.suffix == "" and b"python" in file.readline()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = Path(sys.argv[1]).resolve()
    programs = [*bench_commands(build), *fuzz_commands(build)]
    python = [path for folder in ("bench", "cmake", "scripts", "src", "tests") for path in sorted((ROOT / folder).rglob("*"))
              if path.is_file() and is_python(path)]
    if len(programs) < 20 or len(python) < 100:
        sys.exit(f"found {len(programs)} programs and {len(python)} Python files: this looks in the wrong place")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for text in pool.map(lambda words: check_cpp(words, build), programs) if text]
    complaints += [text for text in map(check_python, python) if text]
    sys.stderr.write("".join(complaints))
    print(f"{len(complaints)} do not compile" if complaints else
          f"{len(programs)} programs of bench/ and tests/fuzz, {len(python)} Python files: all compile")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
