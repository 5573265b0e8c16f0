"""Recipes over a config: what they change, where values come from, runs that need their file no more; `recipe auto` on a folder of cells, trained and
resumed; rare classes first, to the same weights on one rank and two, and when stopped and resumed."""
import os
import shutil

from support import TINY, Folder, check, checkpoints, final_hash, tessera, weights_differ, write_png

TOLERANCE = 1e-9
SHORT = ["train.duration=6ba", "eval.every=6ba", "checkpoint.every=3ba", "checkpoint.keep_last=9", "run.tensorboard=false", "data.threads=1"]


def over_a_config(folder):
    out, _ = tessera("recipe", "list")
    check([line.split()[0] for line in out.splitlines()] == ["hot", "medium", "mild", "auto"], out)
    out, _ = tessera("recipe", "show", "medium", "demo", "train.duration=7ep")
    check("train.sam.rho: 0 -> 0.3" in out and "flat minima" in out, out)
    check("train.duration: 7ep stays: command line sets it, over the recipe's 90ep" in out, out)
    out, _ = tessera("config", "explain", "train.mixup.alpha", "demo", "recipe=hot")
    check("train.mixup.alpha: 0.5" in out and "set by  builtin:recipes/hot:" in out, out)
    _, errors = tessera("train", *TINY, "recipe=milld", expect=2)
    check("did you mean 'mild'?" in errors, errors)
    mine = folder / "mine.yaml"
    mine.write_text("base: recipes/medium\ntrain: {sam: {rho: 0.05}, ema: {half_life: 2ba, update_interval: 1ba}}\n")
    run = [*TINY, *SHORT, f"recipe={mine}", f"run.dir={folder}/own"]
    tessera("train", *run)
    kept = (folder / "own/config.yaml").read_text()
    check("rho: 0.05" in kept and "decoupled_sgd" not in kept and str(mine) not in kept, kept)  # TINY has adamw
    whole = final_hash(folder / "own")
    shutil.rmtree(checkpoints(folder / "own")[-1])
    tessera("train", *run, "--resume")
    check(final_hash(folder / "own") == whole, "a resumed run with a recipe ends in other bits")
    mine.unlink()
    tessera("eval", "-w", folder / "own")
    shutil.rmtree(checkpoints(folder / "own")[-1])
    tessera("train", folder / "own/config.yaml", f"run.dir={folder}/own", "--resume")
    check(final_hash(folder / "own") == whole, "the run's own config is not the run")


def make_cells(folder, count=48, size=64):
    """Discs of 6 to 9 pixels; a second class in every sixth image."""
    for i in range(count):
        def label(y, x, i=i):
            if i % 6 == 0 and (y - 10 - 5 * i % 44) ** 2 + (x - 12) ** 2 < 30:
                return 2
            return 1 if ((y + 7 * i) % 24 - 12) ** 2 + ((x + 11 * i) % 24 - 12) ** 2 < 40 + i % 20 else 0

        write_png(folder / "images" / f"{i:02}.png", size, size, lambda y, x, i=i: (30 + 2 * i, 160, 220)[label(y, x)] + (x * y + i) % 9)
        write_png(folder / "masks" / f"{i:02}.png", size, size, label)


def automatic(folder):
    make_cells(folder / "cells")
    data = [f"data.path={folder}/cells", "train.device=cpu"]
    config = folder / "auto.yaml"
    tessera("recipe", "auto", *data, "-o", config, "--minutes", "0.001")
    text = config.read_text()
    for said in ("# Made by `tessera recipe auto`", "random_crop: {size: 64", "quarter_turns: true", "name: unet", "duration: 200ba", "classes: ["):
        check(said in text, f"{said} is not in\n{text}")
    _, errors = tessera("recipe", "auto", *data, "-o", config, expect=2)
    check("--overwrite" in errors and config.read_text() == text, f"a config that was there is replaced unasked: {errors}")
    tessera("train", config, "--dry-run", "model.unet.channels=[4,8]")
    (folder / "own.yaml").write_text(f"data: {{path: {folder}/cells, classes: [ground, cell, spot]}}\ntrain: {{seed: 7, device: cpu}}\n")
    out, _ = tessera("recipe", "auto", folder / "own.yaml", "optimizer.lr=0.05", "model.unet.channels=[4,8]", "train.ema.half_life=5ba")
    for said in ("  # as given, or follows from what is\n  lr: 0.05\n", "channels: [4, 8]", "bottleneck: 0", "half_life: 5ba", "seed: 7", 'device: "cpu"',
                 '"spot"'):
        check(said in out, f"{said} was given and is not in\n{out}")
    small = ["model.unet.channels=[4,8]", "model.unet.bottleneck=8", "train.duration=4ba", "eval.every=4ba", "checkpoint.every=2ba", "run.pictures=0"]
    run = [*data, *small, "recipe=auto", f"run.dir={folder}/auto"]
    _, errors = tessera("train", *run)
    check("recipe=auto chose" in errors, errors)
    whole = final_hash(folder / "auto")
    shutil.rmtree(checkpoints(folder / "auto")[-1])
    _, errors = tessera("train", *run, "--resume")
    check("recipe=auto chose" not in errors and final_hash(folder / "auto") == whole, errors)
    _, errors = tessera("train", *run, "--ranks", "2", expect=2)
    check("write the choice down first" in errors, errors)
    _, errors = tessera("train", *run, env={"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_STEP_ID": "0", "SLURM_JOB_ID": "7", "SLURM_LOCALID": "0",
                                            "SLURM_NODEID": "0", "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_NUM_TASKS": "2", "MASTER_ADDR": "127.0.0.1"}, expect=2)
    check("write the choice down first" in errors, errors)
    _, errors = tessera("config", "show", "demo", "recipe=auto", expect=2)
    check("tessera recipe auto" in errors, errors)


def odd_folders(folder):
    """A class that one mask of many shows is a class; masks that show nothing are no data."""
    small = ["train.device=cpu", "model.unet.channels=[4,8]", "model.unet.bottleneck=8"]
    for i in range(90):
        def label(y, x, i=i):
            return 2 if i == 77 and y < 3 else int((y - 8) ** 2 + (x - i % 16) ** 2 < 12)

        write_png(folder / "rare/images" / f"{i:02}.png", 16, 16, lambda y, x: 90 * label(y, x) + (x * y) % 9)
        write_png(folder / "rare/masks" / f"{i:02}.png", 16, 16, label)
        if i < 6:
            write_png(folder / "empty/images" / f"{i:02}.png", 16, 16, lambda y, x, i=i: (x * y + i) % 99)
            write_png(folder / "empty/masks" / f"{i:02}.png", 16, 16, lambda y, x: 0)
    out, _ = tessera("recipe", "auto", f"data.path={folder}/rare", *small)
    check("# Masks: the values are the classes" in out and '"class_2"' in out and "random_crop: {size: 32" in out, out)
    _, errors = tessera("recipe", "auto", f"data.path={folder}/empty", *small, expect=2)
    check("nothing is labelled but 'background'" in errors, errors)
    named, _ = tessera("recipe", "auto", folder / "rare", *small)  # a folder among the words is data.path
    check('"class_2"' in named and "random_crop: {size: 32" in named, named)


def rare_classes(folder):
    cells = folder / "cells"
    options = [f"data.path={cells}", "data.classes=[ground,cell,spot]", "data.sampler=balanced", "data.train.transforms=[{random_crop: {size: 32}}, flip]",
               "model.unet.channels=[4,8]", "train.batch_size=6", "train.norm_group=3", "train.precision=fp64", "optimizer.type=adamw", "optimizer.lr=0.01",
               "optimizer.eps=1e-4", "run.pictures=0", *SHORT]
    os.environ["TESSERA_CACHE"] = str(folder / "cache")
    _, errors = tessera("train", *options, f"run.dir={folder}/one")
    check("classes drawn most often: spot" in errors, errors)
    check(len(list((folder / "cache/labels").iterdir())) == 1, "counts of labels are not kept")
    last = checkpoints(folder / "one")[-1]
    for name, flags in (("resumed", []), ("two", ["-p", "ddp", "--ranks", "2"])):
        if not flags:
            shutil.copytree(folder / "one", folder / name)
            shutil.rmtree(checkpoints(folder / name)[-1])
        tessera("train", *options, f"run.dir={folder}/{name}", *(flags or ["--resume"]))
        difference = weights_differ(last, checkpoints(folder / name)[-1])
        check(difference < TOLERANCE if flags else difference == 0, f"{name}: weights differ by {difference}")
    _, errors = tessera("train", *options, "data.sampler=shuffled", f"run.dir={folder}/one", "--resume", expect=2)
    check("data.sampler: balanced in the run, shuffled now" in errors, errors)
    _, errors = tessera("train", *options, "data.balance.min_pixels=100000", f"run.dir={folder}/none", expect=2)
    check("data.balance.min_pixels" in errors, errors)


def main():
    with Folder() as folder:
        over_a_config(folder)
        print("recipes over a config: shown, explained, resumed without their file")
        automatic(folder)
        print("recipe auto: written, trained, resumed")
        odd_folders(folder)
        print("recipe auto: the rarest class found, nothing to learn told")
        rare_classes(folder)
        print("rare classes first: one rank, two ranks, resumed")


main()
