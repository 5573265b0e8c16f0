"""A study on a disk that fills, a small tmpfs: it stops with that error, nothing is lost, and with room again it ends as the one that was left alone.
Needs the right to mount; skips (77) without."""
import os
import subprocess
import sys
import time

from study import study
from support import TINY, Folder, check, final_hash, program, tessera

TRIAL = TINY + ["model.unet.channels=[16,32]", "train.duration=60ba", "eval.every=20ba", "checkpoint.every=5ba", "checkpoint.keep_last=1", "train.threads=1"]
VARY = ["--vary", "optimizer.lr=log:1e-4:1e-1", "--trials", "3"]


def outcome(folder):
    return [(t["state"], t["parameters"], t["reports"], t["values"], final_hash(folder / t["folder"])) for t in study(folder)]


def run_on(disk, folder):
    (folder / "base.yaml").write_text("{}\n")
    tessera("tune", folder / "base.yaml", *TRIAL, *VARY, "--folder", folder / "whole")
    command = [program(), "tune", str(folder / "base.yaml"), *TRIAL, *VARY, "--folder", str(disk / "study")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not list(disk.glob("study/trials/1/checkpoints/step-*/DONE")):
        time.sleep(0.01)
        check(process.poll() is None, "the study ended before its second trial's first checkpoint")
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            pass
    _, errors = process.communicate(timeout=120)
    check(process.returncode == 1, f"exit code {process.returncode}, expected 1\n{errors}")
    check("No space left on device" in errors or "the disk is full" in errors, errors)
    print("disk full: exit 1 and the reason")
    filler.unlink()
    tessera(*command[1:])
    check(outcome(disk / "study") == outcome(folder / "whole"), "another study than the undisturbed one")
    print("room again: the same study, every weight")


def main():
    with Folder() as folder:
        disk = folder / "disk"
        disk.mkdir()
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], capture_output=True).returncode != 0:
            print("cannot mount a tmpfs here: skipped")
            sys.exit(77)
        try:
            run_on(disk, folder)
        finally:
            subprocess.run(["umount", "-l", disk], check=True)


if __name__ == "__main__":
    main()
