"""What the cluster tests of studies share: a small scaling study, the run that each of its trainings must equal, a small study of settings, and kills."""
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import time

from cluster import OPTIONS, check, program
import study_kills
from study import study as trials_of

# Seconds of training on a quiet core, so that kills meet it in all its phases.
LONG = ["train.duration=400ba", "run.log_every=20ba", "eval.every=200ba", "checkpoint.every=20ba", "run.tensorboard=false"]


def study_file(path, executor, ranks=(1, 2), repeat=1, options=LONG, **more):
    lines = {"config": "base/models/unet_small", "set": OPTIONS + list(options), "ranks": list(ranks), "repeat": repeat, "executor": executor, **more}
    pathlib.Path(path).write_text(json.dumps(lines, indent=1))  # which is YAML too
    return path


def words(study, folder, *more):
    return [program(), "scale", str(study), "--folder", str(folder), *map(str, more)]


def scale(study, folder, *more, expect=0, timeout=900, env=None):
    done = subprocess.run(words(study, folder, *more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout,
                          env={**os.environ, **(env or {})})
    check(done.returncode == expect, f"exit code {done.returncode}, expected {expect}\n{done.stdout}")
    return done.stdout


def state(folder):
    return {trial["name"]: trial for trial in json.loads((pathlib.Path(folder) / "study.json").read_text())["trials"]}


def weights(run):
    newest = sorted(path for path in pathlib.Path(run).glob("checkpoints/step-*") if (path / "DONE").exists())[-1]
    return newest.name, hashlib.sha256((newest / "model.safetensors").read_bytes()).hexdigest()


def same_as(folder, reference, what):
    """Every training has the bits of the undisturbed study's."""
    trials = state(folder)
    check(trials.keys() == state(reference).keys(), f"{what}: trainings {list(trials)}")
    for name, trial in trials.items():
        check(trial["state"] == "complete", f"{what}: {name} is {trial['state']}: {trial['reason']}")
        check(weights(folder / "runs" / name) == weights(reference / "runs" / name), f"{what}: {name} has other weights")
    print(f"  {what}: {len(trials)} trainings complete, the weights of the undisturbed study, starts {[trial['attempt'] for trial in trials.values()]}", flush=True)


def processes_of(folder):
    """Of this program, that train below the folder: ranks and launchers."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        parts = line.split(b"\0")
        if parts[0].endswith(b"tessera") and b"train" in parts and f"run.dir={folder}/".encode() in line:
            found.append(int(entry.name))
    return found


def kill_again_and_again(study, folder, kills, seed, *more):
    """kill -9 of the controller, of a process of a training, or of both, at random moments; then the study is followed to its end."""
    draw = random.Random(seed)
    counts = {"controller": 0, "training": 0}
    for number in range(kills):
        controller = subprocess.Popen(words(study, folder, *more), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        what = ("controller", "training", "both")[number % 3]
        try:
            controller.wait(timeout=draw.uniform(0.1, 5))
        except subprocess.TimeoutExpired:
            pass
        if what != "controller":
            trainings = processes_of(folder)
            if trainings:
                try:
                    os.kill(draw.choice(trainings), signal.SIGKILL)
                    counts["training"] += 1
                except ProcessLookupError:
                    pass
        if what == "training":
            time.sleep(draw.uniform(0, 1))
        if controller.poll() is None:
            controller.kill()
            counts["controller"] += 1
        controller.wait()
    check(all(counts.values()), f"killed: {counts}")
    print(f"  killed: the controller {counts['controller']} times, a training {counts['training']} times", flush=True)
    scale(study, folder, *more)


def kill_training(folder):
    """Whether there was one."""
    trainings = processes_of(folder)
    if not trainings:
        return False
    try:
        os.kill(random.choice(trainings), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def log_goes_on(run, name):
    """What a run logged goes on step by step: no two processes wrote to it."""
    last = 0
    for line in (pathlib.Path(run) / "log.jsonl").read_text().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # torn by a kill
        if entry["type"] == "resume":
            last = entry["step"]
        if entry["type"] == "train":
            check(entry["step"] > last, f"{name}: step {entry['step']} after {last}: two wrote to one run")
            last = entry["step"]


def no_doubles(folder):
    """Each start of each training ran once: its job was claimed by one, and what a run logged goes on step by step."""
    for name, trial in state(folder).items():
        jobs = sorted(pathlib.Path(folder).glob(f"jobs/{name}-*"))
        check(len(jobs) == trial["attempt"], f"{name}: {len(jobs)} folders of jobs, {trial['attempt']} starts")
        log_goes_on(pathlib.Path(folder) / "runs" / name, name)


def tuned(base, executor, kills):
    """tessera tune with trials that pause and are promoted: as on this machine, then with kills, one trial after another and two at once."""
    executor = json.dumps(executor)
    here = study_kills.write(base, "tuned_here", 1)
    subprocess.run(here, check=True, stdout=subprocess.DEVNULL)
    calm = base / "tuned_here"
    states = [trial["state"] for trial in trials_of(calm)]
    check("COMPLETE" in states and "PRUNED" in states, states)
    begin = time.monotonic()
    subprocess.run(study_kills.write(base, "tuned", 1, executor), check=True, stdout=subprocess.DEVNULL)
    study_kills.expect_whole(base / "tuned", calm, {})
    print(f"  pauses and promotions in {time.monotonic() - begin:.0f} s: the weights of the same study on this machine", flush=True)
    random.seed(5)
    for name, at_once, expect in (("tuned_killed", 1, study_kills.expect_whole), ("tuned_beside", 2, study_kills.expect_none_lost)):
        begin = time.monotonic()
        count = study_kills.disturbed(study_kills.write(base, name, at_once, executor), base / name, kill_training, kills)
        expect(base / name, calm, count)
        check(not processes_of(base / name), "a training was left behind")
        for trial in trials_of(base / name):
            log_goes_on(base / name / trial["folder"], f"{name}: trial {trial['number']}")
        print(f"  in {time.monotonic() - begin:.0f} s", flush=True)
