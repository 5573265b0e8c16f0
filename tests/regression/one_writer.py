"""A run's folder has one writer: a second process is told who has it, one that is to resume waits for the first to save and end. A closed
terminal (SIGHUP) is a stop like SIGTERM, except under nohup."""
import os
import pwd
import re
import signal
import subprocess
import time

from support import TINY, Folder, check, final_hash, log_lines, program, start, tessera

OPTIONS = TINY + ["train.duration=1000000ba", "eval.every=1000000ba", "checkpoint.every=1000000ba"]


def started(run, *arguments):
    process = start("train", *OPTIONS, f"run.dir={run}", *arguments)
    wait_until(lambda: (run / "log.jsonl").exists() and '"train"' in (run / "log.jsonl").read_text(), process)
    return process


def wait_until(condition, process):
    end = time.monotonic() + 120
    while not condition():
        check(process.poll() is None, "the run ended by itself")
        check(time.monotonic() < end, "nothing happened for two minutes")
        time.sleep(0.05)


def stop(process, number):
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    check(process.returncode == 143, f"exit code {process.returncode} after {number.name}, expected 143\n{errors}")


def main():
    with Folder() as folder:
        run = folder / "run"
        first = started(run)
        user = next((entry.pw_name for entry in pwd.getpwall() if entry.pw_uid == os.geteuid()), f"uid {os.geteuid()}")
        _, errors = tessera("train", *OPTIONS, f"run.dir={run}", "optimizer.lr=0.5", expect=2)
        check(re.search(rf"is in use by process {first.pid} on \S+ \({user}\)", errors), errors)
        second = start("train", *OPTIONS, f"run.dir={run}", "--resume")
        waiting = next((line for line in second.stderr if "waiting for" in line), "")
        check(f"waiting for process {first.pid} on " in waiting, f"the second process did not wait: '{waiting}'")
        stop(first, signal.SIGHUP)
        step, _ = final_hash(run)
        wait_until(lambda: any(line["type"] == "resume" for line in log_lines(run)), second)
        stop(second, signal.SIGTERM)
        _, errors = tessera("train", *OPTIONS, f"run.dir={folder}/refused", "model.pretrained=nowhere.pth", expect=2)
        check("nowhere.pth" in errors and not (folder / "refused").exists(), f"a run that was refused left its folder: {errors}")
        print(f"the second process waited and went on at {step}")

        command = ["nohup", program(), "train", *OPTIONS, f"run.dir={folder}/nohup"]
        deaf = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        log = folder / "nohup/log.jsonl"
        wait_until(lambda: log.exists() and '"train"' in log.read_text(), deaf)
        deaf.send_signal(signal.SIGHUP)
        size = log.stat().st_size
        wait_until(lambda: log.stat().st_size > size, deaf)
        stop(deaf, signal.SIGTERM)


if __name__ == "__main__":
    main()
