"""tessera scale and tessera tune on a Slurm of one machine: scripts, kills of controller and trainings, time limits, refusals, steps of an allocation."""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cluster import check, install, run
from slurm import Slurm
import study_kills
from study import study as trials_of
from studies import kill_again_and_again, no_doubles, same_as, scale, state, study_file, tuned, words

QUICK = {"type": "slurm", "poll_s": 1, "settle_s": 5}


def queue(*fields):
    format = "|".join(fields)
    return [line.split("|") for line in subprocess.run(["squeue", "-h", "-t", "all", "-o", format], capture_output=True, text=True).stdout.splitlines()]


def one_job_each():
    """Slurm never had two jobs of one name that both ran the training."""
    again = [name for name, count in collections.Counter(name for name, in queue("%j")).items() if count > 1]
    return again


def scripts_pass(study, folder):
    out = scale(study, folder, "--dry-run")
    scripts = re.findall(r"^sbatch (.*)$", out, re.M)
    check(len(scripts) == 2, out)
    for script in scripts:
        run("sbatch", "--test-only", script)
    check(not queue("%i"), "a dry run submits nothing")
    print("  scripts of --dry-run pass sbatch --test-only")


def killed(study, folder, reference):
    kill_again_and_again(study, folder, 20, 7)
    same_as(folder, reference, "20 kills")
    no_doubles(folder)
    print("  jobs that Slurm was given twice under one name, of which one did nothing:", one_job_each())


def lost_id(study, folder, reference):
    """The controller is killed between sbatch and writing the number down: the job is found by its name."""
    real = shutil.which("sbatch")
    stand_in = folder.parent / "stand-in"
    stand_in.mkdir()
    (stand_in / "sbatch").write_text(f"#!/bin/sh\n{real} \"$@\" >/dev/null\nkill -9 $PPID\n")
    (stand_in / "sbatch").chmod(0o755)
    env = {**os.environ, "PATH": f"{stand_in}:{os.environ['PATH']}"}
    done = subprocess.run(words(study, folder), env=env, stdin=subprocess.DEVNULL, capture_output=True)
    check(done.returncode == -signal.SIGKILL, f"the controller was to be killed: {done.returncode}")
    check(not list(folder.glob("jobs/*/slurm_id")), "no number was written")
    scale(study, folder)
    same_as(folder, reference, "killed between sbatch and its number")
    names = [name for name, in queue("%j") if name.startswith("lost-")]
    check(len(names) == 2 and len(set(names)) == 2, f"each job once: {names}")


def time_limit(study, folder, reference):
    """A job that is told of its end a moment after it began saves, and others go on."""
    text = scale(study, folder)
    trials = state(folder)
    check(all(trial["attempt"] >= 2 for trial in trials.values()), f"no job met its limit\n{text}")
    check("it goes on" in text, text)
    same_as(folder, reference, "time limits")
    no_doubles(folder)


def refused(study, folder, slurm):
    out = scale(study, folder, "--partition", "nowhere", expect=1)
    check("sbatch did not take the job" in out and "nothing was started" in out, out)
    # A controller that stands still for a while: questions go unanswered, the study goes on.
    process = subprocess.Popen(words(study, folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    slurm.wait_for(lambda: len(list(folder.glob("jobs/*/slurm_id"))) == 2, "two jobs", seconds=300)
    ctld = next(daemon for daemon in slurm.daemons if daemon.args[0] == "slurmctld")
    ctld.send_signal(signal.SIGSTOP)
    time.sleep(15)
    ctld.send_signal(signal.SIGCONT)
    out = process.communicate(timeout=600)[0]
    check(process.returncode == 0, out)
    check("squeue does not answer" in out, out)
    print("  refused, and without an answer for 15 s: nothing lost")


def cancelled(study, folder, slurm):
    process = subprocess.Popen(words(study, folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    slurm.wait_for(lambda: list(folder.glob("runs/*/checkpoints/step-*/DONE")), "a checkpoint", seconds=300)
    run("scancel", "--me")
    out = process.communicate(timeout=300)[0]
    check(process.returncode == 1 and "CANCELLED" in out, out)
    print("  what its user cancels is not started again")


def tune_cancelled(base, slurm):
    """A job that its user cancels is its trial's end; the others go on."""
    command = study_kills.write(base, "tuned_cancelled", 1, json.dumps(QUICK))
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    folder = base / "tuned_cancelled"
    slurm.wait_for(lambda: list(folder.glob("trials/0/checkpoints/step-*/DONE")), "a checkpoint", seconds=300)
    run("scancel", "--me")
    errors = process.communicate(timeout=300)[1]
    trials = trials_of(folder)
    check(process.returncode == 0 and trials[0]["state"] == "FAIL" and trials[0]["reason"] == "its job was cancelled", f"{trials}\n{errors}")
    check(all(trial["state"] in ("COMPLETE", "PRUNED") for trial in trials[1:]) and len(trials) == 5, trials)
    print("  a trial whose job its user cancels has failed, the others go on", flush=True)


def steps(study, folder, reference):
    run("salloc", "-n", 2, *words(study, folder), cwd=folder.parent)
    same_as(folder, reference, "steps of one allocation")


def scaled(base, slurm):
    study = study_file(base / "study.json", QUICK, name="plain")
    scripts_pass(study, base / "scripts")
    print(scale(study, base / "plain"))
    same_as(base / "plain", base / "plain", "undisturbed")
    killed(study_file(base / "killed.json", QUICK, name="killed", retries=100), base / "killed", base / "plain")
    lost_id(study_file(base / "lost.json", QUICK, name="lost"), base / "lost", base / "plain")
    # Slurm counts in minutes: the end of its one minute is told 25 s before, or earlier.
    slow = ["train.duration=6000ba", "run.log_every=500ba", "eval.every=6000ba", "checkpoint.every=500ba", "run.tensorboard=false"]
    scale(study_file(base / "slow.json", QUICK, name="slow", options=slow), base / "slow")
    time_limit(study_file(base / "limit.json", {**QUICK, "time": "1", "save_s": 25}, name="limit", options=slow), base / "limit", base / "slow")
    refused(study_file(base / "refused.json", {**QUICK, "timeout_s": 3}, name="refused"), base / "refused", slurm)
    cancelled(study_file(base / "cancelled.json", QUICK, name="cancelled", options=slow), base / "cancelled", slurm)
    steps(study_file(base / "steps.json", {**QUICK, "allocation": True}, name="steps"), base / "steps", base / "plain")


def tuned_here_and_there(base, slurm):
    tuned(base, QUICK, 20)
    tune_cancelled(base, slurm)
    # One allocation whose cores the study fills.
    run("salloc", "-n", 2, *study_kills.write(base, "tuned_steps", 2, json.dumps({**QUICK, "allocation": True})), cwd=base)
    study_kills.expect_none_lost(base / "tuned_steps", base / "tuned_here", {})


def main():
    install(("slurmctld", "slurmctld"), ("slurmd", "slurmd"), ("srun", "slurm-client"), ("munged", "munge"))
    base = pathlib.Path(tempfile.mkdtemp(prefix="tessera-studies-"))
    base.chmod(0o755)
    parts = sys.argv[2:] or ["scale", "tune"]
    try:
        with Slurm(base / "slurm") as slurm:
            if "scale" in parts:
                scaled(base, slurm)
            if "tune" in parts:
                tuned_here_and_there(base, slurm)
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
