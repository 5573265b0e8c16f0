"""tessera scale on this machine: one result on any number of ranks, kills of controller and trainings, a study that grows, mistakes; and tessera bench suite."""
import csv
import json
import os
import pathlib
import random
import signal
import subprocess
import time

from support import TINY, Folder, check, checkpoints, final_hash, program, tessera, weights_differ

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUICK = ["train.device=cpu", "run.tensorboard=false", "data.threads=1", "model.unet.dropout=0"]


def scale(config, folder, *words, expect=0):
    return tessera("scale", config, "--folder", folder, *words, expect=expect)


def rows(folder):
    with open(folder / "scale.csv") as file:
        return list(csv.DictReader(file))


def state(folder):
    return {trial["name"]: trial for trial in json.loads((folder / "study.json").read_text())["trials"]}


def strong(folder):
    """One result on 1 and 2 ranks, as processes, threads and with split optimizer state; then the study grows."""
    options = [*TINY, *QUICK, "train.precision=fp64", "optimizer.eps=1e-4", "train.duration=4ep", "run.log_every=1ba"]
    prices = folder / "prices.yaml"
    prices.write_text("{currency: EUR, device_hour: {cpu: 0.5}}")
    out, _ = scale("base/models/unet_small", folder / "strong", *options, "--ranks", "1,2", "--modes", "ddp,dp", "--prices", prices)
    table = {(row["mode"], row["ranks"]): row for row in rows(folder / "strong")}
    check(list(table) == [("ddp", "1"), ("ddp", "2"), ("dp", "1"), ("dp", "2")], str(list(table)))
    first = checkpoints(folder / "strong/runs/ddp-1-seed0")[-1]
    for (mode, ranks), row in table.items():
        check(row["complete"] == "1" and row["failed"] == "0", str(row))
        difference = weights_differ(first, checkpoints(folder / f"strong/runs/{mode}-{ranks}-seed0")[-1])
        check(difference < 1e-9, f"{mode} {ranks}: weights differ by {difference}")
        for key in ("epoch_s", "images_per_s", "speed_up", "efficiency", "memory_mb", "metric", "train_s", "cost_per_epoch"):
            check(float(row[key]) > 0, f"{mode} {ranks}: {key} is {row[key]}")
        cost = float(row["epoch_s"]) * int(ranks) * 0.5 / 3600
        check(abs(float(row["cost_per_epoch"]) - cost) < 1e-9 * cost, str(row))
        check(float(row["ideal"]) == float(ranks), str(row))
        if ranks == "2":
            check(float(row["metric_change"]) < 1e-9 and 0 <= float(row["hidden_share"]) <= 1, str(row))
    check("EUR" in out and "scale.html" in out, out)
    for name in ("scale.html", "scale.svg", "scale.png", "scale.json"):
        check((folder / "strong" / name).stat().st_size > 1000, f"{name} is empty")
    times = {name: (folder / "strong/runs" / name / "log.jsonl").stat().st_mtime for name in state(folder / "strong")}
    scale("base/models/unet_small", folder / "strong", *options, "--ranks", "1,2,3", "--modes", "ddp,dp,zero1")
    check(len(rows(folder / "strong")) == 9, "a study that grew")
    check(all((folder / "strong/runs" / name / "log.jsonl").stat().st_mtime == then for name, then in times.items()), "what is complete is not run again")
    difference = weights_differ(first, checkpoints(folder / "strong/runs/zero1-3-seed0")[-1])
    check(difference < 1e-9, f"zero1 on 3 ranks: weights differ by {difference}")
    _, errors = scale("base/models/unet_small", folder / "strong", *options, "optimizer.lr=0.5", "--ranks", "1,2", expect=2)
    check("other settings" in errors, errors)
    tune = ["tune", "base/models/unet_small", "--folder", folder / "strong", "--vary", "optimizer.lr=0.1,0.2", "--trials", 2]
    _, errors = tessera(*tune, expect=2)
    check("holds a study of `tessera scale`" in errors, errors)
    check(not (folder / "strong/study.yaml").exists(), "a study of another command was written into")
    (folder / "tuned").mkdir()
    (folder / "tuned/study.sqlite").touch()
    _, errors = scale("base/models/unet_small", folder / "tuned", *options, expect=2)
    check("holds a study of `tessera tune`" in errors, errors)
    print("strong scaling: one result, a study that grows")


def weak(folder):
    options = [*TINY, *QUICK, "train.duration=2ep", "train.batch_size=4"]
    scale("base/models/unet_small", folder / "weak", *options, "--ranks", "1,2", "--weak", "--repeat", 2)
    table = rows(folder / "weak")
    check([row["batch_size"] for row in table] == ["4", "8"] and all(row["complete"] == "2" and float(row["metric_sd"]) >= 0 for row in table), str(table))
    lines = [json.loads(line) for line in (folder / "weak/runs/ddp-2-seed1/log.jsonl").read_text().splitlines()]
    first = next(line for line in lines if line["type"] == "train")
    check(abs(first["lr"] - 0.02) < 1e-12, f"the rate grows with the batch: {first}")
    print("weak scaling")


def kills(folder):
    """kill -9 of the controller, of a training or of both: in the end the weights of an undisturbed study."""
    words = [*TINY, *QUICK, "train.duration=150ba", "checkpoint.every=10ba", "eval.every=75ba", "--ranks", "1,2"]
    scale("base/models/unet_small", folder / "calm", *words)
    draw = random.Random(3)
    killed = 0
    for number in range(6):
        controller = subprocess.Popen([program(), "scale", "base/models/unet_small", "--folder", folder / "kills", *words], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.5, 3))
        if number % 3 > 0:
            for entry in pathlib.Path("/proc").iterdir():
                try:
                    line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
                except OSError:
                    continue
                if f"run.dir={folder}/kills/".encode() in line and b"job.sh" not in line and draw.random() < 0.7:
                    try:
                        os.kill(int(entry.name), signal.SIGKILL)
                        killed += 1
                    except ProcessLookupError:
                        pass
        if number % 3 != 1:
            controller.kill()
        elif controller.poll() is None:
            controller.kill()
        controller.wait()
    scale("base/models/unet_small", folder / "kills", *words)
    for name, trial in state(folder / "kills").items():
        check(trial["state"] == "complete", f"{name}: {trial}")
        check(final_hash(folder / "kills/runs" / name) == final_hash(folder / "calm/runs" / name), f"{name}: other weights")
        jobs = list((folder / "kills/jobs").glob(f"{name}-*"))
        check(len(jobs) == trial["attempt"], f"{name}: {len(jobs)} jobs, {trial['attempt']} starts")
    print(f"6 kills of the controller, {killed} of processes of trainings: the weights of the undisturbed study, starts",
          [trial["attempt"] for trial in state(folder / "kills").values()])


def failures(folder):
    """One training fails, the others go on; mistakes are found before anything starts."""
    out, _ = scale("base/models/unet_small", folder / "fails", *TINY, *QUICK, "train.duration=4ba", "dist.rank_weights=[1]", "--ranks", "1,2", expect=1)
    check(state(folder / "fails")["ddp-1-seed0"]["state"] == "complete", out)
    check("failed: ddp-2-seed0: exit code" in out, out)
    check("1 failed" in out and "failed" in (folder / "fails/scale.html").read_text(), out)
    for words, said in ((["--ranks", "0"], "from 1"), (["--modes", "pipeline"], "expected none, dp, ddp, zero1"), (["--models", "unett"], "no model"),
                        (["--partition", "gpu"], "--submit slurm"), (["train.bach_size=3"], "batch_size"), (["--submit", "ssh"], "no hosts"),
                        (["--strong", "--weak"], "one of them")):
        _, errors = scale("base/models/unet_small", folder / "wrong", *TINY, *words, expect=2)
        check(said in errors, f"{words}: {errors}")
    check(not (folder / "wrong/jobs").exists(), "nothing was started")
    print("failures")


def scripts(folder):
    out, _ = scale("studies/microscopy_scaling_small", folder / "scripts", "--dry-run", "--submit", "slurm", "--partition", "gpu", "--gpus-per-node", 2)
    paths = [pathlib.Path(line.split(" ", 1)[1]) for line in out.splitlines() if line.startswith("sbatch ")]
    check(len(paths) == 9, out)
    script = paths[-1].read_text()
    for part in ("#SBATCH --nodes=2 --ntasks=4", "#SBATCH --gpus-per-node=2", "#SBATCH --partition=gpu", "train.batch_size=16", "'--ranks' \\\n  '4'"):
        check(part in script, f"no '{part}' in\n{script}")
    for path in paths:
        subprocess.run(["bash", "-n", path], check=True)
    print("scripts")


def shipped_study(folder):
    """The microscopy study in small on 1 and 2 ranks, and shorter still."""
    out, _ = scale("studies/microscopy_scaling_small", folder / "microscopy", "train.duration=2ep", "schedule.milestones=[1ep]", "--ranks", "1,2", "--repeat", 1)
    check([row["complete"] for row in rows(folder / "microscopy")] == ["1", "1"], out)
    print("studies/microscopy_scaling_small on 1 and 2 ranks")


def suite(folder):
    tiny = ["data.synthetic.size=32", "train.batch_size=8", "data.train.count=8", "train.micro_batch=2", "--steps", "2", "--warmup", "1"]
    out, _ = tessera("bench", "suite", "suites/unet_coco", "--num-devices-per-host", 2, *tiny, "--out", folder / "suite.tsv")
    with open(folder / "suite.tsv") as file:
        (row,) = csv.DictReader(file, delimiter="\t")
    check(row["parameters"] == "414284" and row["published_parameters_m"] == "0.4143" and row["published_tflops_per_device"] == "2.69", str(row))
    # By hand: twice 9 multiplications for each pair of channels and pixel; the backward pass takes twice the forward's, and checkpointing one more.
    check(float(row["tflops_per_device"]) > 0 and float(row["latency_s"]) > 0 and row["ranks"] == "2" and row["batch"] == "8", str(row))
    tessera("bench", "suite", "suites/unet_coco", "--case", 1, *tiny, "model.unet.checkpoint=false", "--out", folder / "plain.tsv")
    tessera("bench", "suite", "suites/unet_coco", "--case", 1, *tiny, "--out", folder / "again.tsv")
    counts = []
    for name in ("plain", "again"):
        with open(folder / f"{name}.tsv") as file:
            (row,) = csv.DictReader(file, delimiter="\t")
        check(row["parameters"] == "116516", str(row))
        counts.append(float(row["tflops_per_device"]) * float(row["latency_s"]))
    check(1.25 < counts[1] / counts[0] < 1.4, f"computing activations again adds about a third: {counts}")
    _, errors = tessera("bench", "suite", "suites/unet_coco", "--num-devices-per-host", 3, expect=2)
    check("there are: 1, 2, 4, 8, 16, 32" in errors, errors)
    print("bench suite")


def main():
    with Folder() as folder:
        strong(folder)
        weak(folder)
        kills(folder)
        failures(folder)
        scripts(folder)
        shipped_study(folder)
        suite(folder)


if __name__ == "__main__":
    main()
