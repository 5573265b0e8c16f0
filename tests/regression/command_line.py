"""The program as a user meets it: a folder of images and masks with awkward names goes through data check, train, eval and
predict; mistakes get exit code 2 and a message that helps."""
import json
import pathlib
import re
import shutil
import subprocess

from support import Folder, check, log_lines, tessera, write_png


def make_data(root, count=12):
    """Bright discs on dark ground, under names with spaces and letters beyond ASCII."""
    for i in range(count):
        inside = lambda y, x, i=i: (y - 16 - i % 5) ** 2 + (x - 20 + i % 7) ** 2 < 90
        name = f"größe {i:02}/bild é{i}"
        write_png(root / "images" / f"{name}.png", 40, 32, lambda y, x: (200, 180, 90 + y) if inside(y, x) else (30, 40 + x, 50), channels=3)
        write_png(root / "masks" / f"{name}.png", 40, 32, lambda y, x: 255 if inside(y, x) else 0)


def happy_path(folder):
    make_data(folder / "data")
    options = [f"data.path={folder}/data", "data.labels.binary=true", "data.train.transforms=[{random_crop: {size: 32}}, flip]", "model.unet.channels=[8,16]", "train.duration=12ep",
               "train.batch_size=4", "optimizer.lr=0.01", f"run.dir={folder}/run", "eval.every=4ep", "run.pictures=2"]
    config = pathlib.Path(__file__).parents[2] / "configs/pairs/unet.yaml"
    out, _ = tessera("data", "check", config, *options)
    check("train: 10 samples, 0 unusable" in out and "val: 2 samples, 0 unusable" in out, out)
    quiet, errors = tessera("data", "check", folder / "data", "data.labels.binary=true", "-q")
    check("train: 10 samples, 0 unusable" in quiet and "data: 10 train" not in errors, quiet + errors)
    out, _ = tessera("data", "list", config, *options)
    check(len(out.splitlines()) == 12 and "bild é" in out, out)
    tessera("data", "stats", config, *options)
    tessera("data", "browse", config, *options, "-o", folder / "sheet.png", "-n", 2)
    check((folder / "sheet.png").read_bytes()[:4] == b"\x89PNG", "browse wrote no PNG")
    tessera("train", config, "--dry-run", *options)

    tessera("train", config, *options)
    run = folder / "run"
    for name in ("config.yaml", "environment.json", "log.jsonl", "report.html", "checkpoints/best.json", "predictions/index.json"):
        check((run / name).exists(), f"{name} is missing in the run folder")
    check(list((run / "tensorboard").glob("events.out.tfevents.*")), "no TensorBoard events")
    last = [line for line in log_lines(run) if line["type"] == "eval"][-1]
    check(last["metrics"]["mean_iou"] > 0.8, f"discs were not learned: {last['metrics']}")

    out, _ = tessera("eval", "--weights", run, "--json", "eval.flip=true", "eval.scales=[0.75,1]")
    check('"mean_iou"' in out, out)
    out, _ = tessera("predict", "--weights", run, "-o", folder / "pred", "--overlay", "--probabilities", folder / "data/images")
    masks = sorted((folder / "pred").rglob("*é*.png"))
    check(len(masks) == 24, f"{len(masks)} files predicted, expected 12 masks and 12 overlays")
    check(len(list((folder / "pred").rglob("*.npy"))) == 12, "probabilities are missing")
    listing = "\n".join(str(p) for p in sorted((folder / "data/images").rglob("*.png"))[:3]) + "\n"
    tessera("predict", "--weights", run, "-o", folder / "listed", "--palette", "-", stdin=listing)
    check(len(list((folder / "listed").rglob("*.png"))) == 3, "stdin list")
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nnot really")
    _, errors = tessera("predict", "--weights", run, "-o", folder / "partly", folder / "broken.png", folder / "data/images", expect=1)
    check("broken.png" in errors and "1 of 13 images could not be read" in errors, errors)
    check(len(list((folder / "partly").rglob("*.png"))) == 12, "one bad image must not stop the others")
    _, errors = tessera("predict", "--weights", run, "-o", folder / "none", folder / "broken.png", expect=1)
    check(": 1 image to " in errors and "1 of 1 image could not be read" in errors, errors)

    _, errors = tessera("train", config, *options, expect=2)
    check("already holds a run; add --resume" in errors, errors)
    _, errors = tessera("train", config, *options, "optimizer.lr=0.5", "--resume", expect=2)
    check("optimizer.lr: 0.01 in the run, 0.5 now" in errors, errors)
    tessera("report", run)
    for kind in ("images", "masks"):
        (folder / f"data/{kind}/größe 03/bild é3.png").unlink()
    _, errors = tessera("train", config, *options, "--resume", expect=2)
    check("its training samples have changed (10 then, 9 now)" in errors, errors)
    for kind in ("images", "masks"):
        for i in range(4, 12):
            (folder / f"data/{kind}/größe {i:02}/bild é{i}.png").unlink()
    _, errors = tessera("eval", "-w", run)
    check("the validation images are not those of the run (2 then, 1 now)" in errors, errors)


def bad_sample_is_quarantined(folder):
    make_data(folder / "data", count=30)
    victim = sorted((folder / "data/images").rglob("*.png"))[4]
    victim.write_bytes(victim.read_bytes()[:60])
    options = [f"data.path={folder}/data", "data.labels.binary=true", "data.classes=[a,b]", "model.unet.channels=[4]", "train.duration=2ep", "train.batch_size=4", "data.val_share=0.1", "data.max_bad_share=0.1",
               "run.pictures=0"]
    _, errors = tessera("train", *options, f"run.dir={folder}/run")
    bad = [line for line in log_lines(folder / "run") if line["type"] == "bad_sample"]
    check(len(bad) == 1 and victim.stem in bad[0]["id"] and bad[0]["reason"], f"{bad}\n{errors}")
    check(victim.stem in (folder / "run/report.html").read_text(), "the report does not name the bad sample")
    out, _ = tessera("data", "check", *options, expect=1)
    check(victim.stem in out, out)
    _, errors = tessera("train", *options, "data.max_bad_share=0", f"run.dir={folder}/strict", expect=1)
    check("samples are unusable, more than data.max_bad_share=0 allows" in errors and victim.stem in errors, errors)


def data_is_looked_at(folder):
    """A copy that leaks from train to val is named, browse shows different samples, stats of unreadable files say why."""
    data = folder / "data"
    make_data(data, count=30)
    for kind in ("images", "masks"):
        shutil.copy(data / kind / "größe 07/bild é7.png", data / kind / "copy.png")
    (data / "val.txt").write_text("copy\n")
    options = [f"data.path={data}", "data.labels.binary=true", "data.val.list=val.txt"]
    out, _ = tessera("data", "check", *options)
    check("note: 1 of 1 val images are also in train" in out and "größe 07/bild é7 of train is copy of val" in out, out)
    out, _ = tessera("data", "check", *options, "--json")
    check(json.loads(out)["shared_images"] == [{"train": "größe 07/bild é7", "val": "copy"}], out)
    (data / "train.txt").write_text("copy\ngröße 07/bild é7\n")
    _, errors = tessera("data", "list", *options, "data.train.list=train.txt", expect=1)
    check("data.train.list and data.val.list share 1 of 1 validation samples: copy" in errors, errors)

    tessera("data", "browse", *options, "--split", "train", "-n", 12, "-o", folder / "sheet.html")
    shown = set(re.findall(r"größe \d+/bild é\d+", (folder / "sheet.html").read_text()))
    check(len(shown) == 12, f"browse -n 12 shows {len(shown)} samples")

    images = sorted((data / "images").rglob("*.png"))
    images[3].write_bytes(b"no picture")
    out, _ = tessera("data", "stats", *options)
    check("train: 29 usable samples of 30; 1 unusable, see `tessera data check`" in out and "data.normalize.mean=" in out, out)
    for image in images:
        image.write_bytes(b"no picture")
    out, _ = tessera("data", "stats", *options, "--split", "train", expect=1)
    check("train: 0 usable samples of 30; 30 unusable" in out and out.count("not an image") == 10 and "data.normalize" not in out, out)


def silence_is_broken(folder):
    """What a run should say of its data by itself: 0/255 masks, repeated and shared images, absent classes, unlabelled pixels, files
    without an end."""
    data = folder / "data"
    make_data(data, count=10)
    options = [f"data.path={data}", "data.classes=[ground,disc]", "model.unet.channels=[4]", "train.duration=4ba", "train.batch_size=4", "run.pictures=0",
               "data.train.transforms=[{random_crop: {size: 32}}]"]
    binary = "data.labels.binary=true"
    _, errors = tessera("train", *options, f"run.dir={folder}/x", expect=2)
    check("the masks hold no values but 0 and 255 (8 of 8 looked at)" in errors and "Set data.labels.binary=true if 255 marks 'disc'" in errors, errors)
    out, _ = tessera("data", "check", *options, expect=2)
    check("masks: values 0, 255 in 10 masks" in out and "0 is background, 255 an object" in out and " data.labels.binary=true" in out, out)
    check(not (folder / "x").exists(), "a refused run left its folder")

    _, errors = tessera("train", *options, binary, "train.batch_size=100", "data.val.images=images", "data.val.masks=masks", f"run.dir={folder}/many")
    check("train.batch_size=100 is more than the 10 training images: each comes 10 times in a batch" in errors, errors)
    check("10 of 10 validation images are training images too" in errors, errors)
    _, errors = tessera("train", *options, binary, f"run.dir={folder}/good")
    for said in ("is more than the", "are training images too", "no labelled pixel", "is labelled"):
        check(said not in errors, errors)
    _, errors = tessera("eval", "-w", folder / "good", "data.labels.binary=false", expect=2)
    check("the masks hold no values but 0 and 255 (2 of 2 looked at)" in errors, errors)

    _, errors = tessera("train", *options, "data.labels.ignore=[255]", f"run.dir={folder}/absent")
    errors_of_absent = errors
    missing = "1 of 2 classes have no labelled pixel in the images measured: disc"
    check(errors.count(missing) == 1, errors)
    check(any(missing in line.get("text", "") for line in log_lines(folder / "absent") if line["type"] == "warning"), "log.jsonl lacks the warning")
    _, errors = tessera("eval", "-w", folder / "absent")
    check(missing in errors, errors)
    check("1 of 2 classes occur in none of the 8 training samples looked at: disc" in errors_of_absent, errors_of_absent)
    _, errors = tessera("train", *options, binary, "data.labels.ignore=[0,255]", f"run.dir={folder}/nothing", expect=2)
    check("not one pixel of the 8 training samples is labelled" in errors and not (folder / "nothing").exists(), errors)

    write_png(data / "masks/endless.png", 40, 32, lambda y, x: 0)
    for place, arguments, code in [("c.yaml", ["train", folder / "c.yaml"], 2), ("data/images/endless.png", ["data", "check", *options, binary], 1)]:
        (folder / place).symlink_to("/dev/zero")
        out, errors = tessera(*arguments, expect=code)
        check(f"{folder / place}: it is a device, a file was expected" in out + errors, out + errors)
    out, _ = tessera("config", "show", "/dev/stdin", stdin="optimizer: {lr: 0.125}\n")
    check("lr: 0.125" in out, out)


def mistakes(folder):
    synthetic = ["data.type=synthetic", "data.train.count=20", "model.unet.channels=[4]", f"run.dir={folder}/x"]
    (folder / "c.yaml").write_text("optimiser: {lr: 1}\n")
    for arguments, expected in [
        (["train", folder / "c.yaml"], "c.yaml:1: unknown key 'optimiser', did you mean 'optimizer'?"),
        (["train", folder / "missing.yaml"], "No such file"),
        (["train", "data.type=synthetic", "data.labels.binary=true", f"run.dir={folder}/x"], "data.labels has no effect for type synthetic"),
        (["train", "train.seed=x"], "command line: train.seed expects a whole number, got 'x'"),
        (["train", "--ranks", "2", "data.type=synthetic", f"run.dir={folder}/x"], "need -p dp"),
        (["train", "-p", "dp", "--ranks", "0", "data.type=synthetic", f"run.dir={folder}/x"], "--ranks expects 1 to "),
        (["train", "-p", "dp", "--ranks", "100000", "data.type=synthetic", f"run.dir={folder}/x"], "got 100000; leave it out for one per device"),
        (["launch", "--ranks-per-node", "0", "--", "true"], "--ranks-per-node expects 1 to "),
        (["train", "train.threads=100000", "data.type=synthetic", f"run.dir={folder}/x"], "train.threads expects a value in 0..1024, got '100000'"),
        (["train", "data.threads=100000", "data.type=synthetic", f"run.dir={folder}/x"], "data.threads expects a value in 0..1024, got '100000'"),
        (["train", "-d", "0,1", "data.type=synthetic", f"run.dir={folder}/x"], "need -p dp"),
        (["train", "-d", "one", "data.type=synthetic", f"run.dir={folder}/x"], "expected GPU numbers such as 0 or 0,1,2, or cpu"),
        (["train", "-m", "unett", "data.type=synthetic", f"run.dir={folder}/x"], "did you mean 'unet'?"),
        (["train", "train.device=cuda:7", "data.type=synthetic", f"run.dir={folder}/x"], "no device cuda:7"),
        (["train", "train.device=gpu", "data.type=synthetic", f"run.dir={folder}/x"], "expects auto, cpu, cuda or cuda:N"),
        (["train", *synthetic, "loss.class_weights=[1,2,3]"], "expected 2 class_weights in loss.terms.0.ce, one per class, got 3"),
        (["train", *synthetic, "loss.terms=[ce, dise]"], "loss.terms.1 expects one of ce, bce, dice, focal, tversky, lovasz, ohem, boundary_ce, got 'dise', did you mean 'dice'?"),
        (["train", *synthetic, "loss.terms=[{dice: {smoth: 1}}]"], "unknown key 'loss.terms.0.dice.smoth', did you mean 'smooth'?"),
        (["train", *synthetic, "loss.terms=[ce, dice]", "loss.type=focal"], "loss.type and loss.terms (command line) say different things; remove loss.type"),
        (["train", *synthetic, "optimizer.betas=[0.9]"], "expected optimizer.betas of two numbers below 1, e.g. [0.9, 0.999], got [0.9]"),
        (["train", *synthetic, "data.palette=[[0,0,0]]"], "data.palette has 1 colours, but there are 2 classes"),
        (["train", *synthetic, "data.palette=[[0,0,0],[0,0,300]]"], "data.palette.1.2 expects a value in 0..255, got '300'"),
        (["train", *synthetic, "model.num_classes=7"], "model.num_classes is 7, but the data has 2 classes"),
        (["train", *synthetic, "data.synthetic.kind=shapes", "data.synthetic.num_classes=3", "loss.type=bce"], "bce in loss.terms needs exactly 2 classes"),
        (["train", *synthetic, "schedule.type=step"], "needs schedule.milestones"),
        (["train", *synthetic, "schedule.final_lr=1"], "schedule.final_lr is 1, above the learning rate 0.01"),
        (["train", *synthetic, "train.duration=99999999999999999999ba"], "expected a duration of at most 1e+12"),
        (["train", *synthetic, "train.duration=9e11ep"], "the duration 900000000000ep is"),
        (["train", "data.type=pairs", "data.classes=[a,b]", f"run.dir={folder}/x"], "data.path is not set"),
        (["train", "data.type=synthetic", "run.name=../../escape"], "run.name=../../escape does not name a folder below runs/"),
        (["train", "data.type=synthetic", f"run.name={folder}/escape"], "does not name a folder below runs/; expected a name such as unet-2, or set run.dir"),
        (["config", "explain", "optimizer.lrr"], "did you mean 'optimizer.lr'?"),
        (["nonsense"], "tessera --help"),
        (["trian"], "no command 'trian', did you mean 'train'?"),
        (["-q", "data", "chek"], "no command 'chek', did you mean 'check'?"),
        (["bench", "step", "--model", "unet_small", folder / "c.yaml"], "both say what to measure"),
        (["eval"], "--weights"),
        (["data", "convert", folder, "s3://bucket/cells"], "s3://bucket/cells is a URL: a conversion"),
        (["data", "fetch", "dsb2018", "--to", "s3://bucket/data"], "s3://bucket/data is a URL"),
        (["data", "convert", folder, "data.labels.binary=true"], "what is to be converted? Expected SRC DST"),
    ]:
        _, errors = tessera(*arguments, expect=2)
        check(expected in errors, f"{arguments}: expected '{expected}' in\n{errors}")
    for arguments, expected in [
        (["eval", "--weights", folder / "nothing"], "no run or checkpoint at"),
        (["train", f"data.path={folder}/nowhere", "data.classes=[a,b]", f"run.dir={folder}/x"], "nowhere"),
        (["train", "data.type=synthetic", "run.dir=/proc/tessera"], "cannot be written"),
        (["data", "browse", *synthetic, "-o", "s3://bucket/page"], "s3://bucket is a URL"),
    ]:
        _, errors = tessera(*arguments, expect=1)
        check(expected in errors, f"{arguments}: expected '{expected}' in\n{errors}")


def help_and_shells():
    out, _ = tessera("--help")
    check("train" in out and "demo" in out, out)
    out, _ = tessera("train", "--help")
    check("optimizer.lr=" in out and "data.train.transforms" in out, "help lacks the config keys")
    out, _ = tessera("--version")
    check(out.startswith("tessera 0."), out)
    out, _ = tessera("doctor")
    check("torch" in out and "memory" in out, out)
    out, _ = tessera("completion", "bash")
    done = subprocess.run(["bash", "-c", out + "\nCOMP_WORDS=(tessera tr); COMP_CWORD=1; _tessera; echo ${COMPREPLY[@]}"], capture_output=True, text=True)
    check(done.stdout.strip() == "train", f"completion of 'tr' gave '{done.stdout}' {done.stderr}")
    tessera("completion", "zsh")
    out, _ = tessera("config", "explain", "optimizer.lr", "optimizer.lr=0.5")
    check("set by  command line" in out, out)
    demo = pathlib.Path(__file__).parents[2] / "configs/demo.yaml"
    for name in ("run.name=", "run.name=null"):
        out, _ = tessera("config", "explain", "run.name", demo, name)
        check('run.name: "demo"' in out, f"{name} is not the config's own name: {out}")
    reference, _ = tessera("config", "reference")
    kept = (pathlib.Path(__file__).parents[2] / "docs/config.md").read_text()
    check(reference == kept, "docs/config.md is not what `tessera config reference` prints; run `make docs`")


if __name__ == "__main__":
    help_and_shells()
    for part in (mistakes, data_is_looked_at, silence_is_broken, happy_path, bad_sample_is_quarantined):
        with Folder() as temporary:
            part(temporary)
        print(f"{part.__name__}: ok")
