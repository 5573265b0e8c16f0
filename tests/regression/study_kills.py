"""kill -9 at random moments: of `tessera tune`, of its trials, of both. One after another the study ends as the one that was left alone, to the hash
of every trial's weights; side by side no trial is lost and none is there twice. `study_kills.py PROGRAM 20` kills twenty times of each."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from study import study
from support import TINY, Folder, check, final_hash, program

TRIAL = TINY + ["train.duration=150ba", "eval.every=25ba", "checkpoint.every=5ba", "train.threads=1", "data.threads=1"]


def write(folder, name, at_once, executor="local"):
    """A study whose trials pause at a rung, of which some are promoted. Returns the command that runs it."""
    (folder / f"{name}.yaml").write_text(f"""
folder: {folder}/{name}
set: {{{", ".join(f"{key}: {value}" for key, value in (word.split("=", 1) for word in TRIAL))}}}
space: {{optimizer.lr: {{log: [1e-4, 1e-1]}}, model.unet.dropout: {{uniform: [0, 0.3]}}}}
scheduler: {{type: asha, grace: 50, reduction: 3, rule: promote}}
budget: {{trials: 5}}
retries: 1000
executor: {executor}
resources: {{at_once: {at_once}}}
""")
    return [program(), "-q", "tune", str(folder / f"{name}.yaml")]


def jobs_of(folder):
    """Processes of the study's jobs that live, by the number of their session."""
    found = {}
    for path in folder.glob("jobs/*/process"):
        lines = path.read_text().splitlines()
        pid = lines[-1].split(" ", 1)[0] if len(lines) >= 4 else ""
        if (path.parent / "exit_code").exists() or not pid:
            continue
        sessions = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                stat = (process / "stat").read_text()
            except OSError:
                continue
            fields = stat[stat.rindex(")") + 2:].split()
            if fields[3] == pid and fields[0] != "Z":
                sessions[int(process.name)] = stat
        if sessions:
            found[path.parent.name] = list(sessions)
    return found


def kill_job(folder):
    living = jobs_of(folder)
    if not living:
        return 0
    for pid in living[random.choice(sorted(living))]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return 1


def outcome(folder):
    keys = ("number", "state", "parameters", "reports", "values", "reason")
    return [{key: trial.get(key) for key in keys} | {"weights": final_hash(folder / trial["folder"])} for trial in study(folder)]


def disturbed(command, folder, kill_trial, total):
    """Runs the study to its end with so many kills on the way; returns how many of each kind there were. kill_trial(FOLDER): whether there was one."""
    kills = {"controller": 0, "trial": 0, "both": 0}
    while True:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and sum(kills.values()) < total:
            time.sleep(random.uniform(0.05, min(2.5, 20 / total)))  # the study may end before there were so many
            what = random.choice(list(kills))
            if process.poll() is not None:
                break
            if what != "controller" and not kill_trial(folder):
                continue
            kills[what] += 1
            if what != "trial":
                process.kill()
                break
        _, errors = process.communicate()
        if process.returncode == 0:
            return kills
        check(process.returncode == -signal.SIGKILL, f"exit code {process.returncode}\n{errors}")


def expect_whole(folder, calm, kills):
    """One after another: the study is the one that was left alone, every weight of it."""
    expected, found = outcome(calm), outcome(folder)
    for one, other in zip(expected, found):
        check(one == other, f"after {kills}:\n{other}\nundisturbed:\n{one}")
    check(len(found) == len(expected), f"{len(found)} trials")
    print(f"one after another, killed {kills}: the same study, every weight, {len(list(folder.glob('jobs/*')))} jobs", flush=True)


def expect_none_lost(folder, calm, kills):
    """Side by side: the trials of the study that was left alone, each of them once."""
    found, expected = study(folder), study(calm)
    check([trial["number"] for trial in found] == list(range(5)), found)
    check(all(trial["state"] in ("COMPLETE", "PRUNED") for trial in found), found)
    check([t["parameters"] for t in found] == [t["parameters"] for t in expected], "other trials than without kills")
    check(len({trial["folder"] for trial in found}) == 5, found)
    starts = [len(list(folder.glob(f"jobs/{n}-*"))) for n in range(5)]
    check(starts == [trial["run"]["job"] for trial in found], f"{starts} folders of jobs, {[trial['run'] for trial in found]}")
    print(f"side by side, killed {kills}: no trial lost or doubled, {sum(starts)} jobs for 5 trials", flush=True)


def main():
    random.seed(11)
    total = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    with Folder() as folder:
        begin = time.monotonic()
        subprocess.run(write(folder, "whole", 1), check=True, stdout=subprocess.DEVNULL)
        states = [trial["state"] for trial in study(folder / "whole")]
        print(f"undisturbed: {states} in {time.monotonic() - begin:.1f} s")
        check("COMPLETE" in states and "PRUNED" in states, states)
        (folder / "killed").mkdir()
        (folder / "killed/study.sqlite").touch()  # as a kill leaves it that comes before the first table
        kills = disturbed(write(folder, "killed", 1), folder / "killed", kill_job, total)
        expect_whole(folder / "killed", folder / "whole", kills)
        kills = disturbed(write(folder, "beside", 2), folder / "beside", kill_job, total)
        expect_none_lost(folder / "beside", folder / "whole", kills)
        check(not jobs_of(folder / "beside"), "a job was left behind")


if __name__ == "__main__":
    main()
