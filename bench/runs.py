"""Our training step and PyTorch's, each in a process of its own, from the same weights and batch."""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent


def build_and_output(description):
    """The two arguments of a simple benchmark: BUILD_DIR and, if given, the file for its results."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("build", help="build folder")
    parser.add_argument("output", nargs="?", help="JSON file for everything measured")
    options = parser.parse_args()
    return options.build, options.output


def last_json(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(str(part) for part in command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return json.loads(done.stdout[done.stdout.index("{"):])


def program(build):
    """The program of a build folder, or of a bundle, which has a script that finds its libraries."""
    bundled = pathlib.Path(build) / "tessera"
    return bundled if bundled.is_file() else pathlib.Path(build) / "bin/tessera"


def ours(build, config, overrides, steps, warmup, dump, profile=False):
    return last_json([program(build), "bench", "step", config, *overrides, "--steps", steps, "--warmup", warmup, "--dump", dump,
                      *(["--profile"] if profile else [])])


def peer(dump, model, arguments, compiled, steps, warmup, profile=False):
    return last_json([sys.executable, ROOT / "peers/step.py", dump, "--model", model, *arguments, "--steps", steps, "--warmup", warmup,
                      *(["--compile"] if compiled else []), *(["--profile"] if profile else [])])


def largest_difference(a, b):
    """Of two lists of losses, relative to the first loss."""
    return max(abs(x - y) for x, y in zip(a, b)) / abs(a[0])


def median_by(results, key="ms_median"):
    values = sorted(result[key] for result in results)
    return values[len(values) // 2]
