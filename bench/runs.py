"""Our training step and PyTorch's, each in a process of its own, from the same weights and batch."""
import argparse
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

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


@functools.cache
def program(build):
    """The program of a build folder, or of a bundle, which has a script that finds its libraries. What it needs of the environment on this
    machine (`tessera doctor --variables`: oneDNN without an AMX that cannot be used), PyTorch needs too: whatever is started from here has it."""
    bundled = pathlib.Path(build) / "tessera"
    found = bundled if bundled.is_file() else pathlib.Path(build) / "bin/tessera"
    needed = subprocess.run([found, "doctor", "--variables"], check=True, capture_output=True, text=True).stdout
    os.environ.update(line.split("=", 1) for line in needed.splitlines())
    return found


class Contestant:
    """A program that is started once, warms up alone and then measures whenever it is its turn, `turns` times (`--turns`). Compiling takes
    a minute and measuring a second, so rounds in processes of their own would mostly be spent on compiling. What differs between two starts of
    a program (cuDNN's choice of algorithms) is not seen; what differs between moments of the machine is."""

    def __init__(self, command, turns):
        self.command, self.log = [str(part) for part in [*command, "--turns", turns]], tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.result = None
        self.read()

    def read(self):
        """To the next `ready`, or to the result."""
        lines = []
        for line in self.process.stdout:
            if line == "ready\n":
                return
            lines.append(line)
        if self.process.wait() != 0:
            self.log.seek(0)
            raise SystemExit(f"{' '.join(self.command)} failed:\n{''.join(lines)[-2000:]}\n{self.log.read()[-4000:]}")
        text = "".join(lines)
        self.result = json.loads(text[text.index("{"):])

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.read()


def in_turns(commands, turns):
    """The result of each command, by its key. They are started in order: the first writes the weights that the others start from."""
    started = {key: Contestant(command, turns) for key, command in commands.items()}
    for _ in range(turns):
        for contestant in started.values():
            contestant.turn()
    return {key: contestant.result for key, contestant in started.items()}


def ours_command(build, config, overrides, steps, warmup, dump, profile=False):
    return [program(build), "bench", "step", config, *overrides, "--steps", steps, "--warmup", warmup, "--dump", dump,
            *(["--profile"] if profile else [])]


def ours(*arguments, **options):
    return last_json(ours_command(*arguments, **options))


def peer_command(dump, model, arguments, compiled, steps, warmup, profile=False):
    return [sys.executable, ROOT / "peers/step.py", dump, "--model", model, *arguments, "--steps", steps, "--warmup", warmup,
            *(["--compile"] if compiled else []), *(["--profile"] if profile else [])]


def largest_difference(a, b):
    """Of two lists of losses, relative to the first loss."""
    return max(abs(x - y) for x, y in zip(a, b)) / abs(a[0])


# The first loss is one forward pass of the same weights: it parts by rounding alone. In the steps after it rounding grows by itself
# (eager and compiled PyTorch part by 2 % of the first loss too), but a wrong gradient would not follow a loss that falls by 80 %.
FIRST_LOSS = {"fp32": 1e-5, "bf16": 5e-3}
LATER_LOSSES = 0.05


def require_agreement(name, ours, theirs, precision):
    """The largest difference of two lists of losses; ends the benchmark where the two did not compute the same."""
    first, all_steps = largest_difference(ours[:1], theirs[:1]), largest_difference(ours, theirs)
    if first > FIRST_LOSS[precision] or all_steps > LATER_LOSSES:
        raise SystemExit(f"{name}: the losses do not agree, so the times mean nothing: the first differs by {first:.1e} (at most "
                         f"{FIRST_LOSS[precision]:.0e}), the largest difference is {all_steps:.1e} of the first loss (at most {LATER_LOSSES})\n"
                         f"  ours   {[round(x, 4) for x in ours]}\n  theirs {[round(x, 4) for x in theirs]}")
    return all_steps
