"""A full disk, on a small tmpfs: known before training when it can be; in the middle of a run it destroys nothing, and when
there is room again the run goes on to the same weights. Needs the right to mount; skips (77) without."""
import os
import subprocess
import sys
import time

from support import TINY, Folder, check, final_hash, start, tessera


def main():
    options = TINY + ["model.unet.channels=[16,32]", "train.duration=200ba", "eval.every=1000ba", "checkpoint.every=5ba", "checkpoint.keep_last=1"]
    with Folder() as folder:
        disk = folder / "disk"
        disk.mkdir()
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], capture_output=True).returncode != 0:
            print("cannot mount a tmpfs here: skipped")
            sys.exit(77)
        try:
            run_on(disk, folder, options)
        finally:
            subprocess.run(["umount", "-l", disk], check=True)


def run_on(disk, folder, options):
    _, errors = tessera("train", *options, "model.unet.channels=[64,128,256]", f"run.dir={disk}/too-large", expect=1)
    check("MB left and checkpoints need" in errors, f"expected a message about the room on the disk:\n{errors}")
    check(not (disk / "too-large/log.jsonl").exists(), "training began although the disk was known to be too small")
    print("too small for the checkpoints: refused before training")

    tessera("train", *options, f"run.dir={folder}/whole")
    run = disk / "run"
    process = start("train", *options, f"run.dir={run}")
    while not list(run.glob("checkpoints/step-*/DONE")):
        time.sleep(0.01)
        check(process.poll() is None, "the run ended before its first checkpoint")
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            pass
    _, errors = process.communicate(timeout=120)
    check(process.returncode == 1, f"exit code {process.returncode}, expected 1\n{errors}")
    check("No space left on device" in errors, f"expected the reason:\n{errors}")
    kept, _ = final_hash(run)
    print(f"disk full in the middle: exit 1, {kept} is whole")
    filler.unlink()
    tessera("train", *options, f"run.dir={run}", "--resume")
    check(final_hash(run) == final_hash(folder / "whole"), "weights differ from the undisturbed run")
    print("room again: resumed to the same weights")


if __name__ == "__main__":
    main()
