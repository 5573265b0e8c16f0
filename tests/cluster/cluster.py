"""What the cluster tests share. Each script is called with the program, installs what it needs, shows what it did, and ends all it
started. The proof is always the same: a small training run by the scheduler's ranks has the losses of the run on one rank."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "regression"))
from support import TINY  # noqa: E402

OPTIONS = TINY + ["train.device=cpu", "train.duration=20ba", "run.log_every=1ba", "eval.every=20ba", "checkpoint.every=20ba"]
PATIENCE = 300
os.environ["OMP_NUM_THREADS"] = "1"  # the "hosts" share one machine, and OpenMP threads that wait spin


def program():
    return str(pathlib.Path(sys.argv[1]).resolve())


def check(condition, message):
    if not condition:
        raise SystemExit(f"FAILED: {message}")


def install(*needed):
    """(command, Debian package) pairs; installs the packages whose command is missing."""
    packages = [package for command, package in needed if not shutil.which(command, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    if packages:
        print("installing", *packages, flush=True)
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], check=True, env=env)
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], check=True, env=env, stdout=subprocess.DEVNULL)
    os.environ["PATH"] += ":/usr/sbin:/sbin"


def run(*words, expect=0, cwd=None, env=None):
    """Runs a command to its end and returns its stdout and stderr together."""
    words = [str(word) for word in words]
    print("$", " ".join(word if len(word) < 60 else word[:50] + "..." for word in words[:14]), "..." if len(words) > 14 else "", flush=True)
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, cwd=cwd,
                          env={**os.environ, **(env or {})})
    check(done.returncode == expect, f"exit code {done.returncode}, expected {expect}\n{done.stdout}")
    return done.stdout


def train(folder):
    """The words of a training run into `folder`, without the program."""
    return ["train", *OPTIONS, f"run.dir={folder}"]


def losses(folder):
    lines = [json.loads(line) for line in (pathlib.Path(folder) / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if line["type"] == "train"]


def same_curve(one, other, what):
    first, second = losses(one), losses(other)
    check(len(first) == 20 and len(first) == len(second), f"{what}: {len(second)} losses, expected {len(first)}")
    worst = max(abs(a - b) / abs(a) for a, b in zip(first, second))
    check(worst < 1e-3, f"{what}: losses differ by {worst:.2e}\n{first}\n{second}")
    print(f"  {what}: 20 losses as on one rank, largest relative difference {worst:.1e}", flush=True)


class Folder:
    """A temporary folder others may read, with the run on one rank that the rest is compared with."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="tessera-cluster-"))
        self.path.chmod(0o755)
        run(program(), *train(self.path / "alone"), cwd=self.path)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)
