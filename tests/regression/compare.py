"""Two trained models beside each other: compare.py TESSERA.

A short and a longer training of one model are told apart, and a run is not told apart from itself; settings, curves and pictures are on the page; a file of
`eval --images` stands for a run; what cannot be compared says so.
"""
import json
import pathlib
import tempfile

from support import TINY, check, tessera


def train(run, steps, rate):
    tessera("train", *TINY, f"run.dir={run}", "data.val.count=12", f"train.duration={steps}ba", f"optimizer.lr={rate}", "eval.every=1dur")
    kept = json.loads((run / "evaluations/best.json").read_text())
    check(kept["step"] == steps and len(kept["images"]) == 12, f"evaluations/best.json of {run} holds step {kept['step']} and {len(kept['images'])} images")


def logged_metric(run):
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [line for line in lines if line["type"] == "eval"][-1]["metrics"]["mean_iou"]


def compared(*arguments):
    return json.loads(tessera("compare", *arguments, "--json")[0])


def main(folder):
    short, longer, page, counts = folder / "short", folder / "longer", folder / "compare.html", folder / "counts.json"
    train(short, 2, 0.0001)
    train(longer, 60, 0.01)
    found = compared(short, longer, "-o", page, "--rounds", 500)
    metrics = [model["metrics"]["mean_iou"] for model in found["models"]]
    for run, metric in zip((short, longer), metrics):
        check(abs(metric["value"] - logged_metric(run)) < 1e-12, f"{run}: {metric}, logged {logged_metric(run)}")
        check(metric["interval"][0] <= metric["value"] <= metric["interval"][1], f"{metric} lies outside its interval")
    check(metrics[1]["difference"] > 0 and metrics[1]["p"] < 0.05, f"training on did not help: {metrics}")
    text = page.read_text()
    for part in ("optimizer.lr", "train.duration", "better", "data:image/png;base64", 'id="differences"', 'id="curves"'):
        check(part in text, f"the page lacks {part}")

    printed = tessera("eval", "-w", longer, "--images", counts)[0]
    check("95 % interval" in printed, printed)
    same = compared(longer, counts, "-o", "")["models"][1]["metrics"]["mean_iou"]
    check(same["difference"] == 0 and same["p"] == 1, f"a model differs from itself: {same}")

    for name in ("best", "last"):
        (longer / f"evaluations/{name}.json").unlink()
    check("eval -w" in tessera("compare", short, longer, "-o", "", expect=1)[1], "a run without counts is not told what to do")
    check("there is no" in tessera("compare", short, folder / "nowhere", "-o", "", expect=2)[1], "a missing run is not named")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(pathlib.Path(name))
