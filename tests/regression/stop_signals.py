"""SIGTERM, SIGINT and SIGUSR1: finish the step, save, exit 143, 130 or 75; resuming gives the weights of the undisturbed run. So does a run that
was told where to stop."""
import os
import signal
import subprocess
import time

from support import TINY, Folder, check, final_hash, log_lines, program, start, tessera


def main():
    options = TINY + ["train.duration=250ba", "eval.every=100ba", "checkpoint.every=1000ba"]
    with Folder() as folder:
        tessera("train", *options, f"run.dir={folder}/whole")
        for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGUSR1, 75)):
            run = folder / f"stopped-{code}"
            process = start("train", *options, f"run.dir={run}")
            while not (run / "log.jsonl").exists() or '"train"' not in (run / "log.jsonl").read_text():
                time.sleep(0.02)
                check(process.poll() is None, "the run ended before the signal")
            time.sleep(0.3)
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
            check(process.returncode == code, f"exit code {process.returncode}, expected {code}\n{errors}")
            step, _ = final_hash(run)
            check(step != "step-00000250", "the run was over before the signal came")
            tessera("train", *options, f"run.dir={run}", "--resume")
            check(final_hash(run) == final_hash(folder / "whole"), f"weights differ after a stop at {step}")
            print(f"signal {number.name}: stopped at {step}, exit code {code}, resumed to the same weights")
        stop_at(options, folder)
        time_limit(options, folder)
        no_time_at_all(options, folder)
        requeue(folder)


def stop_at(options, folder):
    """--stop-at: evaluated there, and resumed to the weights and the best checkpoint of the undisturbed run."""
    run = folder / "rungs"
    for arguments, step in ((["--stop-at", "70ba"], 70), (["--stop-at", "0.5dur", "--resume"], 125)):
        output, errors = tessera("train", *options, f"run.dir={run}", *arguments)
        lines = log_lines(run)
        check(final_hash(run)[0] == f"step-{step:08}", f"{arguments}: stopped at {final_hash(run)[0]}")
        check(lines[-1]["status"] == "paused" and any(line["type"] == "eval" and line["step"] == step for line in lines), lines[-1])
        check("mean_iou" in output and f"paused at step {step}" in errors, output + errors)
    tessera("train", *options, f"run.dir={run}", "--resume")
    check(final_hash(run) == final_hash(folder / "whole"), "weights differ after --stop-at")
    best = [(folder / name / "checkpoints/best.json").read_text() for name in ("rungs", "whole")]
    check(best[0] == best[1], f"the best checkpoint differs after --stop-at: {best}")
    _, errors = tessera("train", *options, f"run.dir={folder}/wrong", "--stop-at", "soon", expect=2)
    check("--stop-at" in errors and "25ep" in errors, errors)
    print("--stop-at: evaluated there, resumed to the same weights")


def time_limit(options, folder):
    """--time-limit: code 75 as long as steps are left; started again and again, the weights of the undisturbed run."""
    run = folder / "limited"
    begin = time.monotonic()
    process = start("train", *TINY, "train.duration=1000000ba", "eval.every=0ba", "checkpoint.every=1000000ba", f"run.dir={run}", "--time-limit", "6s")
    while not (run / "log.jsonl").exists():
        time.sleep(0.02)
        check(process.poll() is None, "the run ended before it began")
    startup = time.monotonic() - begin
    _, errors = process.communicate(timeout=300)
    check(process.returncode == 75, f"exit code {process.returncode}, expected 75\n{errors}")
    check(log_lines(run)[-1]["status"] == "out of time" and final_hash(run), log_lines(run)[-1])
    run, pieces = folder / "pieces", 0
    limit = f"{3 + 2 * startup:.0f}s"
    for limit in [limit] * 20 + ["1h"]:
        pieces += 1
        process = start("train", *options, "train.threads=1", f"run.dir={run}", "--resume", "--time-limit", limit)
        _, errors = process.communicate(timeout=300)
        check(process.returncode in (0, 75), f"exit code {process.returncode}\n{errors}")
        if process.returncode == 0:
            break
    check(final_hash(run) == final_hash(folder / "whole"), "weights differ after --time-limit")
    _, errors = tessera("train", *options, f"run.dir={folder}/wrong", "--time-limit", "soon", expect=2)
    check("--time-limit" in errors and "3h50m" in errors, errors)
    print(f"--time-limit: exit code 75, and the same weights in {pieces} pieces")


def no_time_at_all(options, folder):
    """A --time-limit shorter than a start: the second start in a row that does nothing is an error, so that a loop ends; with more time it goes on."""
    run = folder / "no-time"
    arguments = ["train", *options, f"run.dir={run}", "--resume", "--time-limit"]
    tessera(*arguments, "1s", expect=75)
    _, errors = tessera(*arguments, "1s", expect=1)
    check("out of time at step 0" in errors and "--time-limit" in errors, errors)
    tessera(*arguments, "1h")
    check(final_hash(run) == final_hash(folder / "whole"), "weights differ after starts without time")
    print("a time limit shorter than a start: an error the second time, and nothing is lost")


def requeue(folder):
    """--requeue asks scontrol for it once the run is saved, by SIGUSR1 but not by SIGTERM. (tests/cluster/slurm.py does it in a Slurm.)"""
    commands = folder / "commands"
    commands.mkdir()
    (commands / "scontrol").write_text(f'#!/bin/sh\nls {folder}/requeued/checkpoints > {folder}/saved\necho "$@" > {folder}/asked\n')
    (commands / "scontrol").chmod(0o755)
    arguments = ["train", *TINY, "train.duration=1000000ba", "eval.every=0ba", "checkpoint.every=1000000ba", f"run.dir={folder}/requeued", "--requeue"]
    _, errors = tessera(*arguments, expect=2, env={"SLURM_JOB_ID": ""})
    check("SLURM_JOB_ID" in errors, errors)
    for number, code in ((signal.SIGTERM, 143), (signal.SIGUSR1, 75)):
        (folder / "requeued" / "log.jsonl").unlink(missing_ok=True)
        process = subprocess.Popen([program(), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "SLURM_JOB_ID": "42", "PATH": f"{commands}:{os.environ['PATH']}"})
        while not (folder / "requeued" / "log.jsonl").exists() or '"train"' not in (folder / "requeued" / "log.jsonl").read_text():
            time.sleep(0.02)
            check(process.poll() is None, "the run ended before the signal")
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        check(process.returncode == code, f"exit code {process.returncode}, expected {code}\n{errors}")
        check((folder / "asked").exists() == (code == 75), f"{number.name}: scontrol was asked: {(folder / 'asked').exists()}")
    check((folder / "asked").read_text() == "requeue 42\n" and "step-" in (folder / "saved").read_text(), (folder / "asked").read_text())
    print("--requeue: asked for when all is saved, and only when the time is up")


def with_many_threads():
    """Far more threads than CPUs are slow, and are warned of; a signal still ends the run."""
    with Folder() as folder:
        run = folder / "crowded"
        process = start("train", *TINY, "train.duration=100000ba", "eval.every=0ba", "checkpoint.every=100000ba", "train.threads=64", f"run.dir={run}")
        while not (run / "log.jsonl").exists() or '"train"' not in (run / "log.jsonl").read_text():
            time.sleep(0.02)
            check(process.poll() is None, "the run ended before the signal")
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
        check(process.returncode == 143, f"exit code {process.returncode}, expected 143\n{errors}")
        check("train.threads=64, but " in errors, errors)
        print("64 threads: stopped by SIGTERM")


if __name__ == "__main__":
    main()
    with_many_threads()
