"""`train --from RUN` goes on from a run in a new one: to the bits of a run that was as long from the start, also when it is killed and resumed."""
import json
import signal
import time

from support import TINY, Folder, check, checkpoints, final_hash, log_lines, start, tessera

STEADY = TINY + ["schedule.type=constant", "eval.every=10ba", "checkpoint.every=5ba", "train.ema.smoothing=0.9"]


def longer(folder):
    tessera("train", *STEADY, "train.duration=40ba", f"run.dir={folder}/whole")
    tessera("train", *STEADY, "train.duration=20ba", f"run.dir={folder}/first")
    _, errors = tessera("train", *STEADY, "train.duration=40ba", f"run.dir={folder}/first", "--resume", expect=2)
    check("train.duration: 20ba in the run, 40ba now" in errors and f"--from {folder}/first" in errors, errors)
    _, errors = tessera("train", *STEADY, "train.duration=40ba", f"run.dir={folder}/second", "--from", folder / "first")
    check(f"goes on from {folder}/first/checkpoints/step-00000020 at step 20" in errors and "train.duration: 20ba in the run, 40ba now" in errors, errors)
    check(final_hash(folder / "second") == final_hash(folder / "whole"), "20 steps and 20 more are not 40")
    # Without a config it is the run's own.
    tessera("train", "--from", folder / "first", "train.duration=40ba", f"run.dir={folder}/third")
    check(final_hash(folder / "third") == final_hash(folder / "whole"), "with the run's own config it is another run")
    out, _ = tessera("train", "--from", folder / "first", "train.duration=40ba", f"run.dir={folder}/none", "--dry-run")
    check("goes on from" in out and not (folder / "none").exists(), out)
    print("20 steps and 20 more are 40, to the bit")


def other_settings(folder):
    tessera("train", *STEADY, "train.duration=30ba", "optimizer.lr=0.001", "schedule.type=cosine", "data.train.count=20", f"run.dir={folder}/slower",
            "--from", folder / "first/checkpoints/step-00000020")
    run = folder / "slower"
    first = log_lines(run)[0]
    changes = first["from"]["changes"]
    check(first["type"] == "start" and first["from"]["step"] == 20 and "optimizer.lr: 0.01 in the run, 0.001 now" in changes, first)
    check(json.loads((run / "environment.json").read_text())["from"] == first["from"], "environment.json says otherwise")
    check("optimizer.lr: 0.01 in the run, 0.001 now" in (run / "report.html").read_text(), "the report does not say what changed")
    check(all(line["step"] > 20 for line in log_lines(run) if line["type"] == "train"), "steps were taken again")
    for changed, said in [(["optimizer.type=sgd"], "its optimizer is adamw and this config's sgd"), (["model.unet.channels=[4,12]"], "it is of another model"),
                          (["train.duration=20ba"], "ends at step 20")]:
        _, errors = tessera("train", *STEADY, "train.duration=30ba", *changed, f"run.dir={folder}/no", "--from", folder / "first", expect=2)
        check(said in errors and ("model.pretrained=" in errors or "longer" in errors), errors)
    _, errors = tessera("train", "--from", folder / "first", "train.duration=30ba", expect=2)
    check("say where: run.name=... or run.dir=..." in errors, errors)
    _, errors = tessera("train", *STEADY, "train.duration=30ba", f"run.dir={folder}/first", "--from", folder / "first", expect=2)
    check("set run.name or run.dir to another" in errors, errors)
    check(not (folder / "no").exists(), "a refused start left its folder")
    print("another rate, schedule and data: said and recorded; what cannot go on is refused with the way")


def killed(folder):
    options = [*STEADY, "train.duration=400ba", "checkpoint.every=10ba", "eval.every=1000ba"]
    tessera("train", *options, f"run.dir={folder}/long", "--from", folder / "first")
    process = start("train", *options, f"run.dir={folder}/killed", "--from", folder / "first")
    while not any(int(p.name[5:]) > 60 for p in (folder / "killed/checkpoints").glob("step-*/")):
        check(process.poll() is None, "the run ended before it was killed")
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    check(checkpoints(folder / "killed")[-1].name < "step-00000400", "it was done before it was killed")
    tessera("train", *options, f"run.dir={folder}/killed", "--from", folder / "first", "--resume")
    check(final_hash(folder / "killed") == final_hash(folder / "long"), "killed and resumed it is another run")
    check("from" in json.loads((folder / "killed/environment.json").read_text()), "a resumed run no longer says where it came from")
    print("killed and resumed it is the same run")


def main():
    with Folder() as folder:
        longer(folder)
        other_settings(folder)
        killed(folder)


if __name__ == "__main__":
    main()
