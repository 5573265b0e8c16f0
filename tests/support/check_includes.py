"""Fails when a file includes a layer it may not, or uses at::parallel_for, which is no more than a loop in our code (tensor/parallel_for.h):
apps -> { train, launch } -> infer -> { siblings } -> { kernels -> tensor, config } -> core; of the siblings, launch knows dist alone."""
import pathlib
import re
import sys

BASE = {"core"}
MIDDLE = {"kernels", "tensor", "config"}
SIBLINGS = {"data", "nn", "weights", "loss", "metric", "optim", "dist", "report"}
ALLOWED = {
    "core": set(),
    "config": BASE,
    "tensor": BASE,
    "kernels": BASE | {"tensor"},
    **{name: BASE | MIDDLE for name in SIBLINGS},
    "infer": BASE | MIDDLE | SIBLINGS - {"loss", "optim"},
    "train": BASE | MIDDLE | SIBLINGS | {"infer"},
    "launch": BASE | {"dist"},
    "apps": BASE | MIDDLE | SIBLINGS | {"infer", "train", "launch"},
    "cuda": BASE | {"tensor", "kernels", "dist"},
}


def main(root):
    root = pathlib.Path(root)
    wrong = []
    for path in sorted(p for p in root.rglob("*") if p.suffix in {".h", ".cpp", ".cu", ".cuh"}):
        layer = path.relative_to(root).parts[0]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.match(r"\s*[^/]*at::parallel_(for|reduce)\(", line):
                wrong.append(f"{path}:{number}: at::parallel_for runs on one thread here; take parallel_for of tensor/parallel_for.h")
            found = re.match(r'\s*#include "([^"/]+)/', line)
            if found and found[1] in ALLOWED and found[1] != layer and found[1] not in ALLOWED[layer]:
                wrong.append(f"{path}:{number}: {layer} may not include {found[1]}")
    print("\n".join(wrong) or "all includes follow the layers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
