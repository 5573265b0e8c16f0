"""tessera scale and tessera tune on a Slurm that keeps accounts (slurmdbd and a MariaDB): what has become of jobs that squeue has forgotten."""
import json
import pathlib
import shutil
import subprocess
import tempfile

from cluster import check, install, run
from slurm import Slurm
from studies import scale, state, study_file, words
import study_kills
from study import study as trials_of

QUICK = {"type": "slurm", "poll_s": 1, "settle_s": 2}
SLOW = ["train.duration=6000ba", "run.log_every=500ba", "eval.every=6000ba", "checkpoint.every=100ba", "run.tensorboard=false"]


def forgotten(slurm, command, folder, checkpoint):
    """Starts a study, kills its controller, cancels its jobs, and waits until squeue knows of none."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    slurm.wait_for(lambda: list(folder.glob(checkpoint)), "a checkpoint", seconds=300)
    process.kill()
    process.wait()
    run("scancel", "--me")
    # Slurm forgets a job once it takes in something new.
    slurm.wait_for(lambda: not subprocess.run(["squeue", "-h", "--states=all"], capture_output=True, text=True).stdout.strip(), "end of the jobs", seconds=300)
    check("CANCELLED" in run("sacct", "-n", "-X", "-o", "state%30"), "sacct tells what became of them")


def main():
    install(("slurmctld", "slurmctld"), ("slurmd", "slurmd"), ("srun", "slurm-client"), ("munged", "munge"), ("slurmdbd", "slurmdbd"), ("mariadbd", "mariadb-server"))
    base = pathlib.Path(tempfile.mkdtemp(prefix="tessera-accounts-"))
    base.chmod(0o755)
    try:
        with Slurm(base / "slurm", accounts=True) as slurm:
            study = study_file(base / "study.json", QUICK, name="scaled", ranks=(1,), options=SLOW)
            forgotten(slurm, words(study, base / "scaled"), base / "scaled", "runs/*/checkpoints/step-*/DONE")
            out = scale(study, base / "scaled", expect=1)
            (trial,) = state(base / "scaled").values()
            check(trial["state"] == "failed" and "CANCELLED" in trial["reason"] and trial["attempt"] == 1, f"{trial}\n{out}")
            command = study_kills.write(base, "tuned", 1, json.dumps(QUICK))
            forgotten(slurm, command, base / "tuned", "trials/0/checkpoints/step-*/DONE")
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            trials = trials_of(base / "tuned")
            check(trials[0]["state"] == "FAIL" and trials[0]["reason"] == "its job was cancelled" and len(trials) == 5, trials)
            print("  jobs that were cancelled while nobody looked, and that squeue has forgotten: sacct tells, none is started again", flush=True)
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
