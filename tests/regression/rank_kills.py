"""kill -9 of random ranks at 20 random moments under `tessera launch --restarts`: the run goes on by itself from its last checkpoint and
ends with the weights of the undisturbed one (float64, 1e-9). Nothing is left running."""
import os
import pathlib
import random
import signal
import subprocess
import time

from support import TINY, Folder, check, checkpoints, program, tessera, weights_differ

KILLS = 20
RANKS = 2


def ranks_of(launcher):
    """Process ids of the launcher's ranks, told by their environment."""
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if entry.joinpath("stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                continue
            variables = dict(v.split("=", 1) for v in entry.joinpath("environ").read_bytes().decode(errors="replace").split("\0") if "=" in v)
        except (OSError, IndexError):
            continue
        if variables.get("TESSERA_TEST_RUN") == launcher and "RANK" in variables and "LOCAL_RANK" in variables:
            found[int(entry.name)] = int(variables["RANK"])
    return found


def launched(options, folder, name, kills_left):
    """One run that is killed at random moments until it is over. The number of kills."""
    with open(folder / "output", "w") as output:
        launcher = subprocess.Popen([program(), "launch", "--ranks-per-node", str(RANKS), "--restarts", "100", "--log-dir", str(folder / "logs"), "--",
                                     "train", *options, f"run.dir={folder}/{name}", "-p", "ddp"],
                                    stdout=output, stderr=output, env={**os.environ, "TESSERA_TEST_RUN": name})
        kills = 0
        while launcher.poll() is None and kills < kills_left:
            time.sleep(random.uniform(0.3, 2.5))
            alive = ranks_of(name)
            if alive:
                try:
                    os.kill(random.choice(sorted(alive)), signal.SIGKILL)
                    kills += 1
                except ProcessLookupError:
                    pass
        code = launcher.wait(timeout=600)
    text = (folder / "output").read_text()
    check(code == 0, f"the launcher ended with {code} after {kills} kills:\n{text[-3000:]}")
    check(not ranks_of(name), f"left behind: {ranks_of(name)}")
    return kills


def main():
    options = TINY + ["train.precision=fp64", "train.duration=150ba", "eval.every=50ba", "checkpoint.every=5ba", "checkpoint.keep_last=2",
                      "run.tensorboard=false", "data.threads=1", "optimizer.eps=1e-4"]
    random.seed(11)
    with Folder() as folder:
        tessera("train", *options, f"run.dir={folder}/whole")
        kills = runs = 0
        deadline = time.monotonic() + 600
        while kills < KILLS:  # a fast machine ends a run after a few, and begins another
            check(time.monotonic() < deadline, f"only {kills} kills in ten minutes")
            name = f"killed-{os.getpid()}-{runs}"
            kills += launched(options, folder, name, KILLS - kills)
            runs += 1
            difference = weights_differ(checkpoints(folder / "whole")[-1], checkpoints(folder / name)[-1])
            print(f"{kills} kills in {runs} runs, weights within {difference:.1e}")
            check(difference < 1e-9, f"after {kills} kills the weights differ by {difference}")


if __name__ == "__main__":
    main()
