"""A training in a control group with little memory is not killed: it computes less at a time, and leaves the weights of the run with all of
the machine's memory, but for the order of sums. Where no control group can be made here, 77 (skipped)."""
import json
import os
import pathlib
import subprocess
import sys

from support import TINY, Folder, check, program, tessera

ROOT = pathlib.Path("/sys/fs/cgroup")


class Group:
    """A control group of this test's own, of version 1 or 2."""

    def __enter__(self):
        first = (ROOT / "memory").is_dir()
        self.folder = (ROOT / "memory" if first else ROOT) / f"tessera-test-{os.getpid()}"
        self.limit = self.folder / ("memory.limit_in_bytes" if first else "memory.max")
        try:
            self.folder.mkdir()
            self.limit.write_text(str(1 << 40))
        except OSError as e:
            print(f"no control group can be made here: {e}")
            if self.folder.is_dir():
                self.folder.rmdir()
            sys.exit(77)
        return self

    def run(self, limit, *arguments):
        self.limit.write_text(str(limit))
        words = ["sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$@"', "sh", program(), *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, timeout=300)

    def __exit__(self, *_):
        self.folder.rmdir()


def loss(run):
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if line["type"] == "train"][-1]


def main():
    options = TINY + ["data.synthetic.size=320", "data.train.transforms=[{random_crop: {size: 320}}]", "model.unet.channels=[16,32]",
                      "train.duration=3ba", "train.precision=fp64", "run.log_every=1ba", "eval.every=0ba", "train.threads=1", "data.threads=1",
                      "data.prefetch=1", "run.tensorboard=false", "model.unet.dropout=0"]
    with Folder() as folder, Group() as group:
        tessera("train", *options, f"run.dir={folder}/whole")
        expected, small = loss(folder / "whole"), None
        for limit in (1500, 1200, 1000, 800, 600):  # MB: in one of them the batch does not fit and a unit does
            run = folder / f"in-{limit}"
            done = group.run(limit << 20, "train", *options, f"run.dir={run}")
            check(done.returncode in (0, 1), f"{limit} MB: exit code {done.returncode} (137: killed)\n{done.stderr}")
            if done.returncode == 1:
                check("out of memory" in done.stderr, done.stderr)
                break
            check(abs(loss(run) - expected) < 1e-9 * abs(expected), f"{limit} MB: loss {loss(run)}, expected {expected}")
            if "going on with micro-batches" in done.stderr:
                small = limit
        check(small is not None, f"the batch was never too much, or nothing fitted below {limit} MB")
        print(f"{small} MB: not killed, smaller passes, the same result")


if __name__ == "__main__":
    main()
