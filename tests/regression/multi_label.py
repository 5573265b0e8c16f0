"""Classes that overlap as a user meets them: check, stats, browse, train, resume, eval on one and two ranks, predict; and what is refused."""
import json
import math
import random

from support import Folder, check, final_hash, log_lines, tessera, write_png

SIDE = 40
SMALL = ["data.labels.multi=true", "data.classes=[cell,nucleus]", "model.unet.channels=[8,16]", "train.batch_size=8", "train.norm_group=4",
         "data.train.transforms=[{random_crop: {size: 32, max_class_share: 0.95}}, flip]", "optimizer.type=adamw", "optimizer.lr=0.02",
         "train.duration=80ba", "eval.every=40ba", "checkpoint.every=40ba", "run.log_every=20ba", "run.pictures=2", "train.device=cpu"]


def write_cells(folder, count):
    """Grey cells with a white nucleus each; a mask file for each class, and here and there one of ignored pixels."""
    for number in range(count):
        draw = random.Random(number)
        cy, cx = draw.uniform(14, 26), draw.uniform(14, 26)
        noise = [[draw.randrange(30) for _ in range(SIDE)] for _ in range(SIDE)]

        def cell(y, x):
            return math.hypot(y - cy, x - cx) < 10

        def nucleus(y, x):
            return math.hypot(y - cy - 2, x - cx + 2) < 5

        name = f"c{number:02}.png"
        write_png(folder / "images" / name, SIDE, SIDE, lambda y, x: (200 if nucleus(y, x) else 100 if cell(y, x) else 20) + noise[y][x])
        write_png(folder / "masks/cell" / name, SIDE, SIDE, lambda y, x: 255 if cell(y, x) else 0)
        write_png(folder / "masks/nucleus" / name, SIDE, SIDE, lambda y, x: 1 if nucleus(y, x) else 0)
        if number % 3 == 0:
            write_png(folder / "masks/void" / name, SIDE, SIDE, lambda y, x: 255 if x < 4 else 0)


def looked_at(folder, data):
    out, _ = tessera("data", "check", f"data.path={data}", *SMALL)
    check("16 samples, 0 unusable" in out, out)
    stats = json.loads(tessera("data", "stats", f"data.path={data}", *SMALL, "--split", "train", "--json")[0])["train"]
    check(stats["pixels_per_class"][0] > 3 * stats["pixels_per_class"][1] > 0, stats)
    check(stats["ignored_pixels"] % (4 * SIDE) == 0 < stats["ignored_pixels"], stats)
    tessera("data", "browse", f"data.path={data}", *SMALL, "-o", folder / "browse.png", "-n", 3)
    check((folder / "browse.png").stat().st_size > 1000, "browse wrote no picture")


def trained(folder, data):
    run, stopped = folder / "run", folder / "stopped"
    tessera("train", f"data.path={data}", *SMALL, f"run.dir={run}")
    tessera("train", f"data.path={data}", *SMALL, f"run.dir={stopped}", "--stop-at", "40ba")
    tessera("train", f"data.path={data}", *SMALL, f"run.dir={stopped}", "--resume")
    check(final_hash(run) == final_hash(stopped), "a resumed run has other weights")
    last = [line for line in log_lines(run) if line["type"] == "eval"][-1]
    scores = {c["name"]: c["iou"] for c in last["per_class"]}
    check(scores["cell"] > 0.85 and scores["nucleus"] > 0.8, f"IoU {scores}")
    check(last["confusion"] == [], "classes that overlap have no confusion matrix")
    check((run / "report.html").exists() and b"val/iou/nucleus" in b"".join(p.read_bytes() for p in (run / "tensorboard").iterdir()), "no report")
    return run


def measured(run):
    options = ["--json", "eval.metrics=[boundary,objects]", "eval.batch_size=1", "eval.window.size=24", "eval.flip=true"]
    one = json.loads(tessera("eval", "-w", run, *options)[0])
    two = json.loads(tessera("eval", "-w", run, *options, "-p", "ddp", "--ranks", 2)[0])
    for key in ("metrics", "per_class", "images"):
        check(one[key] == two[key], f"{key}: {one[key]} on one rank, {two[key]} on two")
    strict = json.loads(tessera("eval", "-w", run, "--json", "eval.threshold=0.95")[0])["per_class"]
    lenient = json.loads(tessera("eval", "-w", run, "--json", "eval.threshold=0.05")[0])["per_class"]
    for low, high in zip(lenient, strict):
        check(low["recall"] >= high["recall"] and low["precision"] <= high["precision"], f"{low} and {high}")


def predicted(folder, data, run):
    out = folder / "out"
    tessera("predict", "-w", run, data / "images/c01.png", "-o", out, "--overlay", "--probabilities")
    check(sorted(p.name for p in out.iterdir()) == ["c01_cell.png", "c01_nucleus.png", "c01_overlay.png", "c01_probabilities.npy"], list(out.iterdir()))
    # What was written is a data set of its own.
    again = folder / "again"
    for kind in ("images", "masks"):
        (again / kind).mkdir(parents=True)
    (again / "images/c01.png").write_bytes((data / "images/c01.png").read_bytes())
    for name in ("cell", "nucleus"):
        (again / f"masks/c01_{name}.png").write_bytes((out / f"c01_{name}.png").read_bytes())
    result = json.loads(tessera("eval", "-w", run, "--json", f"data.path={again}", "--train-split", "data.val_share=0")[0])
    check(result["metrics"]["mean_iou"] == 1, f"predictions are not those of eval: {result['metrics']}")
    _, errors = tessera("predict", "-w", run, data / "images/c01.png", "-o", out, "--palette", expect=2)
    check("overlap" in errors, errors)


def refused(folder, data):
    (data / "masks/nucleus/c02.png").unlink()
    out, _ = tessera("data", "check", f"data.path={data}", *SMALL, expect=1)
    check("no mask of 'nucleus'" in out and "data.labels.missing=empty" in out, out)
    tessera("data", "check", f"data.path={data}", *SMALL, "data.labels.missing=empty")
    _, errors = tessera("train", f"data.path={data}", *SMALL, "loss.terms=[ce]", f"run.dir={folder}/none", expect=2)
    check("loss.terms=[bce, dice]" in errors, errors)
    _, errors = tessera("data", "check", "data.type=synthetic", "data.labels.multi=true", expect=2)
    check("type pairs" in errors, errors)


if __name__ == "__main__":
    with Folder() as temporary:
        cells = temporary / "cells"
        write_cells(cells, 20)
        looked_at(temporary, cells)
        model = trained(temporary, cells)
        measured(model)
        predicted(temporary, cells, model)
        refused(temporary, cells)
    print("classes that overlap: ok")
