"""What comes after the steps of a run (its evaluation, pictures, report) neither loses nor fails it, and what comes before them (a start that is
refused or fails) leaves nothing in the way. A run folder that is removed meanwhile is made again."""
import shutil
import time

from support import TINY, Folder, check, checkpoints, final_hash, log_lines, start, tessera, write_png


def make_pairs(folder, broken):
    for i in range(8):
        write_png(folder / "images" / f"{i}.png", 40, 40, lambda y, x: [(x * 6) % 256, (y * 6) % 256, 40 * i % 256], channels=3)
        write_png(folder / "masks" / f"{i}.png", 40, 40, lambda y, x: int(x + y > 40))
    (folder / "val.txt").write_text("6\n7\n")
    if broken:
        mask = folder / "masks/7.png"
        mask.write_bytes(mask.read_bytes()[:60])


def pair_options(folder, *more):
    return ["data.type=pairs", f"data.path={folder}", "data.classes=[a,b]", "data.val.list=val.txt", "data.max_bad_share=0",
            "data.train.transforms=[{random_crop: {size: 32}}]", "model.unet.channels=[4,8]", "train.batch_size=4", "train.norm_group=4",
            "train.duration=6ba", "checkpoint.every=1000ba", "data.threads=1", "run.log_every=1ba", *more]


def failing_evaluations(folder):
    make_pairs(folder / "data", broken=True)
    run = folder / "last"
    _, errors = tessera("train", *pair_options(folder / "data", "eval.every=0ep", f"run.dir={run}"))
    check("all steps are done and saved, but their evaluation failed" in errors and "tessera eval" in errors, errors)
    check(final_hash(run)[0] == "step-00000006" and (run / "report.html").exists(), "the run is not there")
    check(log_lines(run)[-1]["status"] == "done", log_lines(run)[-1])
    shutil.copytree(folder / "data", folder / "mended")
    shutil.copy(folder / "data/masks/6.png", folder / "mended/masks/7.png")
    tessera("train", *pair_options(folder / "mended", "eval.every=0ep", f"run.dir={run}"), "--resume")
    check(any(line["type"] == "eval" and line["step"] == 6 for line in log_lines(run)), "a resumed run was not evaluated")

    run = folder / "middle"
    _, errors = tessera("train", *pair_options(folder / "data", "eval.every=3ba", f"run.dir={run}"), expect=1)
    check("7" in errors and final_hash(run)[0] == "step-00000003", f"the steps before a failed evaluation are lost:\n{errors}")
    print("evaluations that fail lose no step, and the last one fails no run")


def failing_pictures(folder):
    make_pairs(folder / "good", broken=False)
    run = folder / "pictures"
    run.mkdir()
    (run / "predictions").write_text("in the way")
    _, errors = tessera("train", *pair_options(folder / "good", f"run.dir={run}", "run.pictures=1"))
    check("the run is saved, but its predictions were not drawn: cannot make the folder" in errors, errors)
    check((run / "report.html").exists(), "no report without pictures")
    print("pictures that cannot be drawn fail no run")


def refused_starts(folder):
    there = folder / "there"
    there.mkdir()
    (there / "notes.txt").write_text("mine")
    for run in (folder / "new/deep", there):
        tessera("train", *TINY, f"run.dir={run}", "--dry-run")
        tessera("train", *TINY, f"run.dir={run}", "model.pretrained=nowhere.pth", expect=2)
        _, errors = tessera("train", *TINY, f"run.dir={run}", "eval.scales=[20000]", expect=2)
        check("eval.scales" in errors and "at scale 20000 an image of 48 x 48" in errors and " GB" in errors, errors)
    check(not (folder / "new").exists(), "a refused start left its folder")
    check([p.name for p in there.iterdir()] == ["notes.txt"], f"a refused start left {list(there.iterdir())}")
    print("refused starts leave nothing behind, scales that no memory holds are one of them")


def failed_runs(folder):
    run = folder / "failed"
    options = TINY + ["train.duration=8ba", "run.log_every=1ba", f"run.dir={run}"]
    _, errors = tessera("train", *options, "optimizer.type=sgd", "optimizer.lr=1e30", "guard.nonfinite=stop", expect=1)
    check("is not finite" in errors and not list((run / "checkpoints").glob("step-*")), errors)
    tessera("train", *options)
    lines = log_lines(run)
    check(lines[0]["type"] == "start" and sum(line["type"] == "start" for line in lines) == 1, "the log holds two runs")
    check((run / "log-failed.jsonl").exists(), "the log of the run that failed is gone")
    _, errors = tessera("train", *options, expect=2)
    check("already holds a run" in errors, errors)
    print("a folder whose run failed before its first checkpoint can be used again")


def removed_folder(folder):
    run = folder / "removed"
    process = start("train", *TINY, "train.duration=400ba", "eval.every=1000ba", "checkpoint.every=1000ba", "run.log_every=1ba", f"run.dir={run}")
    while not (run / "log.jsonl").exists() or '"train"' not in (run / "log.jsonl").read_text():
        check(process.poll() is None, "the run ended by itself")
        time.sleep(0.02)
    # In one call, since the run writes into its folder while a file after another is removed.
    shutil.rmtree(run.rename(folder / "being-removed"))
    _, errors = process.communicate(timeout=120)
    check(process.returncode == 0, f"exit code {process.returncode}:\n{errors}")
    check(checkpoints(run)[-1].name == "step-00000400" and log_lines(run)[-1]["status"] == "done", "the run is not there")
    check((run / "report.html").exists() and "filesystem error" not in errors, errors)
    tessera("eval", "-w", run)
    print("a run folder that is removed is made again")


def main():
    with Folder() as folder:
        failing_evaluations(folder)
        failing_pictures(folder)
        refused_starts(folder)
        failed_runs(folder)
        removed_folder(folder)


if __name__ == "__main__":
    main()
