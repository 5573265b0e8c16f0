"""Metrics as a user meets them: the best checkpoint of one class, boundaries and objects in the log, in TensorBoard and in eval, the same
numbers from two ranks; names that there are not are refused at the start."""
import json
import math

from support import TINY, Folder, check, log_lines, tessera

EXTRA = "eval.metrics=[boundary,objects]"
CLASSES = ["circle", "square", "triangle"]  # and the background, which has no objects


def evaluations(run):
    return [line for line in log_lines(run) if line["type"] == "eval"]


def of_class(line, name):
    return next(c for c in line["per_class"] if c["name"] == name)


def best_of_one_class(folder):
    run = folder / "run"
    out, errors = tessera("train", *TINY, "train.duration=6ep", "eval.every=1ep", "checkpoint.every=1ep", EXTRA, "checkpoint.best_metric=f1/circle",
                          "checkpoint.keep_last=1", f"run.dir={run}")
    lines = evaluations(run)
    scores = [of_class(line, "circle")["f1"] for line in lines]
    best = max(range(len(scores)), key=lambda i: scores[i])
    marked = json.loads((run / "checkpoints/best.json").read_text())
    check(marked["metric"] == "f1/circle" and marked["value"] == scores[best], f"{marked}, but the scores are {scores}")
    check(marked["checkpoint"] == f"step-{lines[best]['step']:08}", f"{marked}, expected step {lines[best]['step']}")
    check("f1/circle" in errors and "best f1/circle" in out, out + errors)
    for line in lines:
        for name in CLASSES:
            entry = of_class(line, name)
            objects = entry["objects"]
            check(objects["matched"] <= min(objects["labelled"], objects["predicted"]), entry)
            check(0 <= entry["boundary_iou"] <= 1, entry)
        check("objects" not in of_class(line, "background"), line)
        means = [c["boundary_iou"] for c in line["per_class"]]
        check(math.isclose(line["metrics"]["mean_boundary_iou"], sum(means) / len(means)), line["metrics"])
    check(of_class(lines[0], "circle")["objects"]["labelled"] == of_class(lines[-1], "circle")["objects"]["labelled"] > 0, "objects of the truth")

    events = b"".join(p.read_bytes() for p in (run / "tensorboard").iterdir())
    for tag in (b"val/iou/circle", b"val/recall/square", b"val/boundary_iou/background", b"val/object_f1/circle", b"val/mean_object_f1"):
        check(tag in events, f"{tag} is not in TensorBoard's events")
    check(b"val/object_f1/background" not in events, "the background has no objects")
    page = (run / "report.html").read_text()
    check("F1 of circle" in page and "IoU of classes" in page and "<h3>Objects</h3>" in page, "the report lacks metrics of classes")
    return run


def same_on_two_ranks(run):
    one, _ = tessera("eval", "-w", run, "--json", EXTRA, "eval.batch_size=1", "eval.window.size=20")
    two, _ = tessera("eval", "-w", run, "--json", EXTRA, "eval.batch_size=1", "eval.window.size=20", "-p", "ddp", "--ranks", 2)
    one, two = json.loads(one), json.loads(two)
    for key in ("metrics", "per_class", "confusion", "images"):
        check(one[key] == two[key], f"{key}: {one[key]} on one rank, {two[key]} on two")
    out, _ = tessera("eval", "-w", run, EXTRA, "eval.objects.classes=[square]")
    check("objects of" in out and "boundary IoU" in out, out)
    table = out[out.index("objects of"):].splitlines()
    check(table[1].startswith("square") and table[2] == "", out)


def goes_on_with_another_metric(run):
    _, errors = tessera("train", *TINY, "train.duration=6ep", EXTRA, "checkpoint.best_metric=mean_iou", f"run.dir={run}", "--resume")
    check("checkpoint.best_metric was f1/circle and is mean_iou now: the best is looked for anew" in errors, errors)


def early_stop_follows_it(folder):
    run = folder / "stops"
    tessera("train", *TINY, "train.duration=40ep", "eval.every=1ep", "checkpoint.early_stop=1", "checkpoint.best_metric=recall/circle", f"run.dir={run}")
    scores = [of_class(line, "circle")["recall"] for line in evaluations(run)]
    first_worse = next((i for i in range(1, len(scores)) if scores[i] <= max(scores[:i])), None)
    check(first_worse == len(scores) - 1 < 39, f"the run went on after a worse evaluation: {scores}")


def refused(folder):
    for name, parts in {"iou/circel": ["did you mean 'iou/circle'?", "mean_iou, ", "classes: background, circle"],
                        "IoU foreground": ["known: mean_iou"],
                        "object_f1/circle": ["not measured; add eval.metrics=[objects]"]}.items():
        _, errors = tessera("train", *TINY, f"checkpoint.best_metric={name}", f"run.dir={folder}/none", expect=2)
        for part in parts:
            check(part in errors, f"{name}: {errors}")
    _, errors = tessera("train", *TINY, EXTRA, "eval.objects.classes=[cirle]", f"run.dir={folder}/none", expect=2)
    check("eval.objects.classes has 'cirle', did you mean 'circle'?" in errors, errors)


if __name__ == "__main__":
    with Folder() as temporary:
        trained = best_of_one_class(temporary)
        same_on_two_ranks(trained)
        goes_on_with_another_metric(trained)
        early_stop_follows_it(temporary)
        refused(temporary)
    print("metrics of classes, boundaries and objects: ok")
