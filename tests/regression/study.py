"""`tessera tune` on real trainings: a study from the command line and from a file, a promoted trial that goes on to the bits of one that never
paused, weights that population-based training copies, what is recorded of trials that fail, and errors that are found before anything starts."""
import json
import shlex
import sqlite3
import subprocess

from support import TINY, Folder, check, final_hash, log_lines, program, tessera

TRIAL = TINY + ["train.duration=6ep", "eval.every=1ep", "checkpoint.every=1ep", "checkpoint.keep_last=20", "train.threads=1", "data.threads=1"]


def study(folder):
    """The trials of a study: number, state, parameters, reports, value, attributes."""
    base = sqlite3.connect(f"file:{folder}/study.sqlite?mode=ro", uri=True)
    trials = []
    for identity, number, state in base.execute("SELECT trial_id, number, state FROM trials ORDER BY number"):
        def rows(what, table, order=""):
            return base.execute(f"SELECT {what} FROM {table} WHERE trial_id = {identity} {order}").fetchall()
        trials.append({"number": number, "state": state, "parameters": dict(rows("param_name, param_value", "trial_params")),
                       "reports": rows("step, intermediate_value", "trial_intermediate_values", "ORDER BY step"),
                       "values": [v for v, in rows("value", "trial_values", "ORDER BY objective")],
                       **{key: json.loads(value) for key, value in rows("key, value_json", "trial_user_attributes")}})
    base.close()
    return trials


def quick(folder):
    """A config, what to vary, and how many: the best trial's command trains it again to the same weights."""
    base = folder / "base.yaml"
    base.write_text("run: {pictures: 0}\n")
    out, log = tessera("tune", base, *TRIAL, "--vary", "optimizer.lr=log:1e-3:1e-1", "--vary", "model.unet.channels=[4,8],[8,8]",
                       "--trials", 3, "--folder", folder / "quick", "--search", "sobol")
    trials = study(folder / "quick")
    check([t["state"] for t in trials] == ["COMPLETE"] * 3, trials)
    check("trials   3: 3 complete, 0 stopped, 0 failed" in out and "trial 2 complete" in log, out + log)
    for t in trials:
        check([step for step, _ in t["reports"]] == list(range(1, 7)), t)
        check(t["values"][0] == max(value for _, value in t["reports"]), t)
        check(len({json.dumps(line) for line in log_lines(folder / "quick" / t["folder"]) if line["type"] == "eval"}) == 6, t)
    processes = {(path.read_text().splitlines()[-1].split(" ")[0]) for path in (folder / "quick/jobs").glob("*/process")}
    check(len(processes) == 1, f"three trials, one after another, had {len(processes)} processes")
    best = max(trials, key=lambda t: t["values"][0])
    command, _ = tessera("tune", "best", folder / "quick", "--run-dir", folder / "again")
    words = shlex.split(command)
    check(words[0] == "tessera", command)
    subprocess.run([program(), *words[1:]], check=True, capture_output=True)
    check(final_hash(folder / "again") == final_hash(folder / "quick" / best["folder"]), "the printed command trains other weights")
    # The same command again has nothing left to do; one more trial is one more; other settings are another study.
    same = ["tune", base, *TRIAL, "--vary", "optimizer.lr=log:1e-3:1e-1", "--vary", "model.unet.channels=[4,8],[8,8]", "--folder", folder / "quick", "--search"]
    tessera(*same, "sobol", "--trials", 3)
    check(study(folder / "quick") == trials, "a study that was done has changed")
    tessera("tune", folder / "quick", "--trials", 4)
    check(study(folder / "quick")[:3] == trials and len(study(folder / "quick")) == 4, "going on changed the trials before")
    _, errors = tessera(*same, "random", "--trials", 5, expect=2)
    check("begun with other settings (search)" in errors, errors)
    status, _ = tessera("tune", "status", folder / "quick")
    check(len(status.splitlines()) == 5 and "complete" in status, status)
    print("a study from the command line: trials, best, going on, what may not change")


def promoted(folder):
    """Trials that pause at rungs and go on end in the bits of a training that was never stopped."""
    (folder / "asha.yaml").write_text(f"""
folder: {folder}/asha
set: {{{", ".join(f"{key}: {value}" for key, value in (word.split("=", 1) for word in TRIAL))}}}
space: {{optimizer.lr: {{log: [1e-4, 1e-1]}}}}
search: sobol
scheduler: {{type: asha, grace: 2, reduction: 3, rule: promote}}
budget: {{trials: 3}}
""")
    tessera("tune", folder / "asha.yaml")
    trials = study(folder / "asha")
    done = [t for t in trials if t["state"] == "COMPLETE"]
    check(len(done) == 1 and all(t["state"] == "PRUNED" and len(t["reports"]) < 6 for t in trials if t not in done), trials)
    best = done[0]
    starts = sum(line["type"] in ("start", "resume") for line in log_lines(folder / "asha" / best["folder"]))
    check(starts >= 2 and len(best["reports"]) == 6, best)
    tessera("train", *TRIAL, f"optimizer.lr={best['parameters']['optimizer.lr']!r}", f"run.dir={folder}/whole")
    check(final_hash(folder / "asha" / best["folder"]) == final_hash(folder / "whole"), "a promoted trial has other weights than one that never paused")
    reports = {line["epoch"]: line["metrics"]["mean_iou"] for line in log_lines(folder / "whole") if line["type"] == "eval"}
    check(best["reports"] == [(epoch, reports[epoch]) for epoch in sorted(reports)], (best["reports"], reports))
    print(f"a trial that paused and was promoted, {starts} starts in all: the bits of one that never paused")


def copied(folder):
    """Population-based training: the weights that a trial takes are those that the other one had, to the hash."""
    (folder / "pbt.yaml").write_text(f"""
folder: {folder}/pbt
set: {{{", ".join(f"{key}: {value}" for key, value in (word.split("=", 1) for word in TRIAL))}}}
space: {{optimizer.lr: {{log: [1e-5, 1e-1]}}}}
scheduler: {{type: pbt, interval: 2, population: 4, synch: true}}
budget: {{trials: 4}}
seed: 3
""")
    tessera("tune", folder / "pbt.yaml")
    trials = study(folder / "pbt")
    check(all(t["state"] == "COMPLETE" and len(t["reports"]) == 6 for t in trials), trials)
    copies = 0
    for t in trials:
        for place, copy in enumerate(t.get("copies", [])):
            step = copy["step"] * 3  # 24 images in batches of 8
            giver = trials[copy["from"]]
            before = sum(earlier["step"] < copy["step"] for earlier in giver.get("copies", []))
            source = folder / "pbt/trials" / (str(giver["number"]) + (f"-{before}" if before else "")) / f"checkpoints/step-{step:08d}"
            taken = folder / "pbt/trials" / f"{t['number']}-{place + 1}" / f"checkpoints/step-{step:08d}"
            sums = [json.loads((at / "DONE").read_text())["files"] for at in (source, taken)]
            check(sums[0]["model.safetensors"] == sums[1]["model.safetensors"], f"{taken} is not {source}")
            check((source / "model.safetensors").read_bytes() == (taken / "model.safetensors").read_bytes(), f"{taken} is not {source}")
            check((source / "optimizer.safetensors").read_bytes() == (taken / "optimizer.safetensors").read_bytes(), f"{taken} is not {source}")
            copies += 1
    check(copies >= 2, f"{copies} copies only")
    # The winner's whole history, trained once more in its stretches, gives its weights.
    best = max(trials, key=lambda t: t["values"][0])
    commands, _ = tessera("tune", "best", folder / "pbt", "--run-dir", folder / "replay")
    for command in commands.splitlines():
        subprocess.run([program(), *shlex.split(command)[1:]], check=True, capture_output=True)
    check(final_hash(folder / "replay") == final_hash(folder / "pbt" / best["folder"]), "the replayed history has other weights")
    print(f"{copies} copies equal to the hash; the winner's history of {len(commands.splitlines())} stretches replayed to its weights")


def failures(folder):
    """A diverging trial, one that is refused and one whose process dies are recorded with their reasons and end nothing."""
    base = folder / "base.yaml"
    base.write_text("{}\n")
    out, _ = tessera("tune", base, *TRIAL, "optimizer.type=sgd", "--vary", "optimizer.lr=0.01,1e30", "--vary", "model.num_classes=0,5", "--search", "grid",
                     "--folder", folder / "what's failed")
    trials = study(folder / "what's failed")
    check([t["state"] for t in trials] == ["COMPLETE", "FAIL", "FAIL", "FAIL"], trials)
    check("not finite" in trials[2]["reason"], trials[2])
    check(all("model.num_classes is 5, but the data has 4 classes" in trials[i]["reason"] for i in (1, 3)), trials)
    check("4: 1 complete, 0 stopped, 3 failed" in out, out)
    jobs = list((folder / "what's failed/jobs").iterdir())
    check(len(jobs) == 4, f"trials that cannot succeed were tried again: {jobs}")
    print("what failed and why is recorded, nothing is tried in vain")


def mistakes(folder):
    base = folder / "base.yaml"
    base.write_text("{}\n")
    for words, said in [((base,), "says nothing of what to vary"), ((base, "--vary", "optimizer.lr=log:1e-4:1e-1"), "the study would never end"),
                        ((base, "--vary", "optimizer.lrr=0.1,0.2", "--trials", 3), "did you mean 'optimizer.lr'?"),
                        ((base, "--vary", "model.name=unet,psnet_r50", "--trials", 3), "model.name: there is no model 'psnet_r50'"),
                        ((base, "--vary", "optimizer.lr=0.1,-2", "--trials", 3), "optimizer.lr"),
                        ((base, "--vary", "optimizer.lr=0.1,0.2", "--trials", 3, "--objective", "mean_iuo"), "did you mean 'mean_iou'?"),
                        ((base, "--vary", "optimizer.lr=0.1,0.2", "--trials", 0), "a number above 0"),
                        ((base, "--vary", "optimizer.lr=0.1,0.2", "train.seeed=3", "--trials", 3), "did you mean 'seed'?"),
                        ((base, "--vary", "optimizer.lr=0.1,0.2", "train.device=cuda:1", "--trials", 3), "gives each trial a GPU of its own choice"),
                        ((base, "--vary", "optimizer.lr=0.1,0.2", "--trials", 3, "--prices", folder / "none.yaml"), "there is no file"),
                        ((base, "--vary", "optimizer.lr=0.1,0.2", "--trials", 3, "--set", "budget.cost=2"), "give --prices"),
                        ((folder / "none.yaml", "--trials", 3), "none.yaml")]:
        _, errors = tessera("tune", *words, "--folder", folder / "none", expect=2)
        check(said in errors, errors)
        check(not (folder / "none").exists(), f"a refused study left its folder: {words}")
    _, errors = tessera("tune", base, *TRIAL, "--vary", "optimizer.lr=0.1,0.2", "--search", "grid", "--folder", "/proc/self/study", expect=1)
    check("/proc/self/study" in errors, errors)
    damaged = folder / "damaged"
    damaged.mkdir()
    (damaged / "study.sqlite").write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 64)
    _, errors = tessera("tune", base, *TRIAL, "--vary", "optimizer.lr=0.1,0.2", "--search", "grid", "--folder", damaged, expect=1)
    check("is damaged" in errors or "is no SQLite file" in errors, errors)
    print("mistakes are found before anything starts")


def main():
    for case in (mistakes, quick, promoted, copied, failures):
        with Folder() as folder:
            case(folder)


if __name__ == "__main__":
    main()
