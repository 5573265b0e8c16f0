"""A rank of two that raises in any phase of a step, or hangs: the world ends (or starts again), the message names rank, phase and reason,
and nothing is left running."""
import os
import signal
import subprocess
import time

from rank_kills import ranks_of
from support import TINY, Folder, check, program

OPTIONS = TINY + ["train.duration=12ba", "eval.every=6ba", "checkpoint.every=4ba", "run.tensorboard=false", "data.threads=1"]


def launch(folder, name, flags, environment, options=()):
    tag = f"{os.getpid()}-{name}"
    process = subprocess.Popen([program(), "launch", "--ranks-per-node", "2", "--log-dir", str(folder / f"{name}-logs"), *flags, "--", "train", *OPTIONS,
                                *options, f"run.dir={folder}/{name}"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment, "TESSERA_TEST_RUN": tag})
    return tag, process


def expect_end(tag, process, words, code=None):
    text, _ = process.communicate(timeout=240)
    check(process.returncode != 0 if code is None else process.returncode == code, f"exit code {process.returncode}:\n{text}")
    for word in words:
        check(word in text, f"'{word}' not in:\n{text}")
    check(not ranks_of(tag), f"left behind: {ranks_of(tag)}")


def main():
    with Folder() as folder:
        for phase, step in [("loading data", 2), ("forward", 3), ("backward", 3), ("reducing", 3), ("optimizer", 3), ("evaluating", 5), ("saving", 3)]:
            begin = time.monotonic()
            tag, process = launch(folder, phase.split()[0], [], {"TESSERA_FAULT": f"1:{phase}:{step}"})
            expect_end(tag, process, ["rank 1", phase, "failed on purpose"])
            print(f"raised in {phase}: the world ended, {time.monotonic() - begin:.1f} s in all")

        tag, process = launch(folder, "hangs", ["--hang-timeout", "5"], {"TESSERA_FAULT": "1:backward:3:hang"})
        expect_end(tag, process, ["rank 1", "backward"])
        print("hung in backward: found and named")
        tag, process = launch(folder, "again", ["--hang-timeout", "5", "--restarts", "1"], {"TESSERA_FAULT": "1:backward:9:hang"})
        expect_end(tag, process, ["rank 1", "backward"], code=0)
        print("hung, started again: the run is whole")

        tag, process = launch(folder, "stopped", ["--hang-timeout", "5"], {}, ["train.duration=100000ba"])
        deadline = time.monotonic() + 120
        while not (folder / "stopped" / "checkpoints").exists() or not ranks_of(tag):
            check(time.monotonic() < deadline and process.poll() is None, "the ranks did not start")
            time.sleep(0.1)
        victims = [pid for pid, rank in ranks_of(tag).items() if rank == 1]
        os.kill(victims[0], signal.SIGSTOP)
        expect_end(tag, process, ["rank 1", "stopped"])
        print("SIGSTOP: found and named")


if __name__ == "__main__":
    main()
