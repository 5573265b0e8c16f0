"""What the tests of `tessera launch` share: a rank that is a small script, and a watch over what is left behind."""
import os
import pathlib
import random
import socket
import subprocess
import sys
import time

from support import Folder, check, program

PATIENCE = 60  # seconds; a promise of 10 s is measured apart from how loaded the machine is

# The layout of RankStatus in src/core/rank_status.h: step, collective, sample, phase, waiting, changed_ns, error.
RANK = f"#!{sys.executable}\n" + '''
import mmap, os, struct, sys, time
rank, world, generation = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "TESSERA_GENERATION"))
with open(os.environ["TESSERA_STATUS_FILE"], "r+b") as file:
    status = mmap.mmap(file.fileno(), 0)
PHASES = {"loading": 2, "forward": 3, "reducing": 5}


def note(step=0, collective=0, sample=-1, phase="forward", waiting=False, error=b""):
    status[0:40] = struct.pack("<qqqi?3xq", step, collective, sample, PHASES[phase], waiting, time.monotonic_ns())
    status[40:41 + len(error)] = error + b"\\0"


'''


def rank_script(folder, body):
    path = pathlib.Path(folder) / "rank.py"
    path.write_text(RANK + body)
    path.chmod(0o755)
    return path


def clean_environment():
    """Without variables that would make us a rank of somebody else's world."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "NNODES", "TESSERA_JOB_SECRET", "TESSERA_JOB_SECRET_FILE", "TESSERA_INSECURE")
    return {name: value for name, value in os.environ.items() if name not in names and not name.startswith(("SLURM_", "OMPI_", "PMI"))}


def start_launch(*arguments, cwd, env=None, stdin=subprocess.DEVNULL):
    return subprocess.Popen([program(), "launch", *map(str, arguments)], cwd=cwd, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env={**clean_environment(), **(env or {})})


def launch(*arguments, cwd, expect=0, env=None):
    """Runs to the end; returns (stdout, stderr, seconds)."""
    began = time.monotonic()
    process = start_launch(*arguments, cwd=cwd, env=env)
    out, errors = finish(process)
    words = " ".join(map(str, arguments))
    check(process.returncode == expect, f"launch {words}\nexit code {process.returncode}, expected {expect}\n{out}{errors}")
    return out, errors, time.monotonic() - began


def finish(process, timeout=5 * PATIENCE):
    try:
        return process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
        raise SystemExit(f"FAILED: the launcher did not end within {timeout} s\n{out}{errors}")


_kept_ports = []


def run_tests(*tests):
    """Each in a folder of its own."""
    for test in tests:
        with Folder() as folder:
            began = time.monotonic()
            test(folder)
            print(f"  {test.__name__}: {time.monotonic() - began:.1f} s", flush=True)


def free_port(locked=True):
    """A port for this test alone: below those the system hands out by itself, and locked under the name that launchers lock theirs, unless the
    launcher is to lock it."""
    while True:
        port = random.randrange(12000, 19000)
        lock = socket.socket(socket.AF_UNIX)
        try:
            lock.bind(f"\0tessera-port-{port}")
            with socket.socket() as probe:
                probe.bind(("", port))
        except OSError:
            lock.close()
            continue
        if locked:
            _kept_ports.append(lock)
        else:
            lock.close()
        return port


def wait_until(condition, what, timeout=PATIENCE):
    end = time.monotonic() + timeout
    while not condition():
        check(time.monotonic() < end, f"not within {timeout} s: {what}")
        time.sleep(0.05)


def processes_with(word):
    """Numbers of living processes whose command line holds `word`."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words, state = (entry / "cmdline").read_bytes(), (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if word.encode() in words and state not in "ZX":
            found.append(int(entry.name))
    return found


def none_left(word):
    wait_until(lambda: not processes_with(word), f"processes with {word} are gone; left: {processes_with(word)}")
