"""The program away from its source tree: configs by name, relative places that stay where they were meant, weights of a file in eval and
predict, values as bare words, and mistakes that are found before anything is computed."""
import json
import os
import pathlib
import subprocess

from support import Folder, check, program, write_png

SMALL = ["model.unet.channels=[4,8]", "train.duration=6ba", "train.batch_size=4", "train.norm_group=4", "eval.every=0ep", "run.pictures=0",
         "data.train.transforms=[{random_crop: {size: 24}}]", "optimizer.lr=0.01"]


def tessera_in(folder, *arguments, expect=0):
    done = subprocess.run([pathlib.Path(program()).resolve(), *map(str, arguments)], capture_output=True, text=True, timeout=300, cwd=folder, env=os.environ)
    check(done.returncode == expect, f"tessera {' '.join(map(str, arguments))}\nexit code {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def make_cells(root, count=10):
    for i in range(count):
        inside = lambda y, x, i=i: (y - 14 - i % 5) ** 2 + (x - 16 + i % 7) ** 2 < 60
        write_png(root / f"images/{i}.png", 32, 28, lambda y, x: (200, 180, 90 + y) if inside(y, x) else (30, 40 + x, 50), channels=3)
        write_png(root / f"masks/{i}.png", 32, 28, lambda y, x: int(inside(y, x)))


def names(folder):
    out, _ = tessera_in(folder, "config", "list")
    rows = dict(line.split(maxsplit=1) for line in out.splitlines())
    check(rows["pairs/unet"].startswith("Your own folder") and "fcn/r50_ade20k_80k" in rows and not any(name.startswith("base/") for name in rows), out)
    for word in ("unet", "pairs/unet", "configs/pairs/unet.yaml", "builtin:unet"):
        out, _ = tessera_in(folder, "config", "show", word)
        check("duration: 50ep" in out and 'name: "unet"' in out, f"{word}:\n{out}")
    out, _ = tessera_in(folder, "config", "show", "--source", "unet")
    check(out.startswith("# Your own folder") and "base: [../base/" in out, out)
    out, _ = tessera_in(folder, "config", "explain", "train.duration", "unet")
    check("set by  builtin:pairs/unet:" in out, out)
    (folder / "own.yaml").write_text("base: unet\ntrain: {duration: 3ep}\n")
    out, _ = tessera_in(folder, "config", "explain", "eval.every", "own.yaml")
    check("eval.every: 5ep" in out, out)
    (folder / "unet").write_text("train: {duration: 7ep}\n")
    out, _ = tessera_in(folder, "config", "show", "unet")
    check("duration: 7ep" in out, "a file on disk goes first")
    (folder / "unet").unlink()
    _, errors = tessera_in(folder, "train", "unett", expect=2)
    check("no config 'unett'" in errors and "did you mean 'unet'?" in errors, errors)
    _, errors = tessera_in(folder, "train", "r50_ade20k_80k", expect=2)
    check("deeplabv3plus/r50_ade20k_80k, fcn/r50_ade20k_80k" in errors, errors)
    out, _ = tessera_in(folder, "config", "--help")
    check("`base: [a.yaml, b.yaml]`" in out, out)
    script, _ = tessera_in(folder, "completion", "bash")
    done = subprocess.run(["bash", "-c", script + "\nCOMP_WORDS=(tessera train deeplabv3plus/r5); COMP_CWORD=2; _tessera; echo ${COMPREPLY[@]}"], capture_output=True, text=True)
    check(done.stdout.strip() == "deeplabv3plus/r50_ade20k_80k", f"completion gave '{done.stdout}' {done.stderr}")
    out, _ = tessera_in(folder, "models", "show", "base/models/unet_small", "--size", 64, "--json")
    check(json.loads(out)[0]["parameters"] > 0, out)


def places(folder):
    """A run is evaluated from another folder than it was trained from, and its data may be moved."""
    work, elsewhere = folder / "work", folder / "elsewhere"
    elsewhere.mkdir()
    make_cells(work / "cells")
    tessera_in(work, "train", "unet", "data.path=cells", *SMALL)
    run = work / "runs/unet"
    first, _ = tessera_in(work, "eval", "-w", "runs/unet", "--json")
    second, _ = tessera_in(elsewhere, "eval", "-w", run, "--json")
    check(json.loads(first)["metrics"] == json.loads(second)["metrics"], "evaluated from elsewhere it is another result")
    tessera_in(elsewhere, "train", "unet", f"data.path={work}/cells", *SMALL, f"run.dir={run}", "--resume")
    (work / "cells").rename(folder / "moved")
    third, _ = tessera_in(elsewhere, "eval", "-w", run, "--json", "data.path=../moved")
    check(json.loads(first)["metrics"] == json.loads(third)["metrics"], "moved data give another result")
    out, _ = tessera_in(work, "train", "unet", "data.path=../moved", *SMALL, "run.name=other", "--dry-run")
    check("channels: [4, 8]" in out and "bottleneck: 0" in out and "segmenter" not in out and "pspnet" not in out and "coco" not in out, out)
    check(not (work / "runs/other").exists() and len(out.splitlines()) < 180, f"{len(out.splitlines())} lines")
    everything, _ = tessera_in(work, "train", "unet", "data.path=../moved", *SMALL, "run.name=other", "--dry-run", "--all")
    check("segmenter" in everything, everything)
    return run


def weight_files(folder, run):
    """A file of weights is what its run is; a file with something missing is refused."""
    moved = folder / "moved"
    tessera_in(folder, "export", "weights", run, "-o", "m.pth", "--with-python")
    check((folder / "m.py").read_text().startswith('"""A U-Net trained by Tessera'), "no module beside the weights")
    compile((folder / "m.py").read_text(), "m.py", "exec")
    config = ["unet", f"data.path={moved}", "model.unet.channels=[4,8]", "model.pretrained=m.pth"]
    of_run, _ = tessera_in(folder, "eval", "-w", run, f"data.path={moved}", "--json")
    of_file, errors = tessera_in(folder, "eval", *config, "--json")
    check(json.loads(of_run)["metrics"] == json.loads(of_file)["metrics"], f"{of_run}\n{of_file}")
    check("unet with the weights of m.pth" in errors, errors)
    tessera_in(folder, "predict", "-w", run, moved / "images", "-o", "a", "eval.flip=true")
    tessera_in(folder, "predict", "-w", run, moved / "images", "-o", "b", "--set", "eval.flip=true")
    tessera_in(folder, "predict", "--config", *config, "eval.flip=true", moved / "images", "-o", "c")
    masks = sorted((folder / "a").glob("*.png"))
    check(len(masks) == 10, f"{masks}")
    for mask in masks:
        check(mask.read_bytes() == (folder / "b" / mask.name).read_bytes() == (folder / "c" / mask.name).read_bytes(), f"{mask.name} differs")
    for arguments, said, code in [
        (["eval", "-w", "m.pth"], "CONFIG model.pretrained=m.pth in place of --weights", 2),
        (["eval"], "--weights RUN", 2),
        (["eval", "unet", "-w", run], "both say which model", 2),
        (["eval", run], f"give it with --weights {run}", 2),
        (["eval", "unet", f"data.path={moved}"], "which weights?", 2),
        (["eval", *config, "data.classes=[a,b,c]"], "the model would be random there: classifier.0.weight", 1),
        (["eval", *config, "eval.flp=true"], "did you mean 'flip'?", 2),
        (["predict", "-w", run, moved / "images", "evl.flip=true", "-o", "d"], "unknown key 'evl', did you mean 'eval'?", 2),
        (["predict", "-w", run, "eval.flip=true", "-o", "d"], "no images found", 2),
        (["predict", "-w", run, "x=y.png", "-o", "d"], "no image, folder or pattern matches 'x=y.png'", 2),
        (["export", "weights", "-w", run, "-o", "m.onnx"], ".onnx files cannot be written; expected .safetensors, .pth, .pt or .npz", 2),
        (["export", "weights", run, "-o", "m.safetensors", "--with-python"], "expected -o NAME.pth", 2),
        (["trian", "--help"], "no command 'trian', did you mean 'train'?", 2),
        (["data", "chek", "--help"], "no command 'chek', did you mean 'check'?", 2),
        (["train", "unet", "--all"], "--all is for --dry-run", 2),
    ]:
        _, errors = tessera_in(folder, *arguments, expect=code)
        check(said in errors, f"{arguments}: expected '{said}' in\n{errors}")
    check(not (folder / "m.onnx").exists() and not (folder / "d").exists(), "a refused command wrote something")
    (folder / "m.py").write_text("mine")
    _, errors = tessera_in(folder, "export", "weights", run, "-o", "m.pth", "--with-python", expect=2)
    check("would replace" in errors and (folder / "m.py").read_text() == "mine", errors)
    tessera_in(folder, "train", "--help")


def palette_limit(folder):
    many = ["data.type=synthetic", "data.synthetic.kind=shapes", "data.synthetic.num_classes=300", "data.train.count=4", "data.val.count=1", "train.duration=1ba", "train.batch_size=2"]
    tessera_in(folder, "train", *SMALL, *many, "run.dir=many")
    write_png(folder / "one.png", 16, 16, lambda y, x: (x, y, 0), channels=3)
    _, errors = tessera_in(folder, "predict", "-w", "many", "one.png", "--palette", "-o", "out", expect=2)
    check("a palette PNG has room for 256 classes, the model has 300" in errors, errors)
    tessera_in(folder, "predict", "-w", "many", "one.png", "-o", "out")


def main():
    with Folder() as folder:
        names(folder)
        run = places(folder)
        weight_files(folder, run)
        palette_limit(folder)
    print("from anywhere: ok")


if __name__ == "__main__":
    main()
