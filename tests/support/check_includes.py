"""Fails when a file includes a layer it may not, when two folders include one another, directly or through others, or when a file uses
at::parallel_for, which is no more than a loop in our code (tensor/parallel_for.h). Layers:
apps -> study -> { train, launch } -> infer -> { siblings } -> { kernels -> tensor, config, storage } -> core; of the siblings, launch knows dist alone; of all that,
study knows config, report and launch."""
import collections
import pathlib
import re
import sys

BASE = {"core"}
MIDDLE = {"kernels", "tensor", "config", "storage"}
SIBLINGS = {"data", "nn", "weights", "loss", "metric", "optim", "dist", "report"}
ALLOWED = {
    "core": set(),
    "config": BASE,
    "storage": BASE,
    "tensor": BASE,
    "kernels": BASE | {"tensor"},
    **{name: BASE | MIDDLE for name in SIBLINGS},
    "infer": BASE | MIDDLE | SIBLINGS - {"loss", "optim"},
    "train": BASE | MIDDLE | SIBLINGS | {"infer"},
    "launch": BASE | {"dist"},
    "study": BASE | {"config", "storage", "report", "launch"},
    "apps": BASE | MIDDLE | SIBLINGS | {"infer", "train", "launch", "study"},
    "cuda": BASE | {"tensor", "kernels", "dist"},
}


def check_line(layer, line):
    """What is wrong with a line, if anything is."""
    if re.match(r"\s*[^/]*at::parallel_(for|reduce)\(", line):
        return "at::parallel_for runs on one thread here; take parallel_for of tensor/parallel_for.h"
    found = re.match(r'\s*#include "([^"/]+)/', line)
    if found and found[1] in ALLOWED and found[1] != layer and found[1] not in ALLOWED[layer]:
        return f"{layer} may not include {found[1]}"
    return None


def included_folder(root, path, line):
    """The folder below `root` of the file that a line includes; None where it includes none of ours."""
    found = re.match(r'\s*#include "([^"]+)"', line)
    if not found:
        return None
    for file in (root / found[1], path.parent / found[1]):
        if file.is_file():
            return file.parent.relative_to(root).as_posix()
    return None


def way_back(edges, start, end):
    """The folders on the shortest way from `start` to `end` along includes, both named; None where there is none."""
    came_from, queue = {start: None}, collections.deque([start])
    while queue:
        folder = queue.popleft()
        if folder == end:
            way = [folder]
            while came_from[way[-1]] is not None:
                way.append(came_from[way[-1]])
            return way[::-1]
        for next_folder in sorted(edges[folder]):
            if next_folder not in came_from:
                came_from[next_folder] = folder
                queue.append(next_folder)
    return None


def folder_cycles(edges):
    """A message for each pair of folders that a cycle of includes goes through. edges: folder -> folder -> one include."""
    messages, seen = [], set()
    for folder in sorted(edges):
        for other in sorted(edges[folder]):
            way = way_back(edges, other, folder)
            if way is None or frozenset(way) in seen:
                continue
            seen.add(frozenset(way))
            steps = zip([folder, *way], way)
            includes = "\n".join(f"  {edges[a][b]}" for a, b in steps)
            through = f" (through {', '.join(way[1:-1])})" if len(way) > 2 else ""
            messages.append(f"{folder} and {other} include one another{through}; move what both need into a folder below them:\n{includes}")
    return messages


def main(root):
    root = pathlib.Path(root)
    wrong, edges = [], collections.defaultdict(dict)
    for path in sorted(p for p in root.rglob("*") if p.suffix in {".h", ".cpp", ".cu", ".cuh"}):
        layer, folder = path.relative_to(root).parts[0], path.parent.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            problem = check_line(layer, line)
            if problem:
                wrong.append(f"{path}:{number}: {problem}")
            target = included_folder(root, path, line)
            if target is not None and target != folder:
                edges[folder].setdefault(target, f"{path}:{number}: {line.strip()}")
    wrong += folder_cycles(edges)
    print("\n".join(wrong) or "all includes follow the layers, and no two folders include one another")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
