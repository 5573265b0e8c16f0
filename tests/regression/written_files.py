"""What predict, eval, export and demo write, and where: an input is never replaced, no result is written over another, and what
cannot be written or measured is said before the work."""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import zipfile

from support import TINY, Folder, check, checkpoints, program, tessera, write_png

COLOURS = lambda y, x: (200, 60 + x, 30 + y)


def files_in(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def inputs_are_kept(folder, run):
    photos = folder / "photos"
    write_png(photos / "photo.png", 24, 20, COLOURS, channels=3)
    before = (photos / "photo.png").read_bytes()
    (folder / "link").symlink_to(photos)
    for inputs, output in [(photos, photos), (photos / "photo.png", photos), (folder / "link", photos), (photos, folder / "link"),
                           (photos / "photo.png", os.path.relpath(photos))]:
        out, errors = tessera("predict", "-w", run, inputs, "-o", output, expect=2)
        check("photo.png would replace an input image; choose another folder with --output" in errors, errors)
        check(not out and (photos / "photo.png").read_bytes() == before, f"{inputs} to {output} touched the input")
    check(files_in(photos) == ["photo.png"], f"files were left: {files_in(photos)}")
    _, errors = tessera("predict", "-w", run, photos, "-o", photos, "-p", "dp", "--ranks", 2, "-d", "cpu", expect=2)
    check("would replace an input image" in errors, errors)


def results_are_kept_apart(folder, run):
    images = folder / "images"
    for name in ("a.jpg", "a_overlay.png", "b.png"):  # the content says what a file is, not its name
        write_png(images / name, 24, 20, COLOURS, channels=3)
    # The list comes from Windows, the word after --set is an image, and b.png is given three times.
    listing = f"{images}/a.jpg\r\n{images}/a_overlay.png\r\n{images}/b.png\r\n"
    out, _ = tessera("predict", "-w", run, "--set", "eval.flip=true", images / "b.png", f"{images}/./b.png", "-", "--set", "eval.scales=[1]",
                     "--overlay", "-o", folder / "apart", stdin=listing)
    check(out.startswith("3 predictions in "), out)
    expected = [f"{name}{suffix}" for name in ("a_jpg", "a_overlay_png", "b") for suffix in (".png", "_overlay.png")]
    check(files_in(folder / "apart") == sorted(expected), f"{files_in(folder / 'apart')}")


def lists_may_be_separated_by_nuls(folder, run):
    images = [folder / "listed" / name for name in ("a.png", "two\nlines.png")]
    for image in images:
        write_png(image, 24, 20, COLOURS, channels=3)
    for ranks in ([], ["-p", "dp", "--ranks", 2, "-d", "cpu"]):
        output = folder / f"nuls{len(ranks)}"
        tessera("predict", "-w", run, "-", "-o", output, *ranks, stdin="".join(f"{image}\0" for image in images))
        check(files_in(output) == ["a.png", "two\nlines.png"], f"{ranks}: {files_in(output)}")


def names_may_be_any_bytes(folder, run):
    latin = folder / "latin/gr\udcfc.png"  # Python's way to write the byte 0xFC, which is not UTF-8
    write_png(latin, 24, 20, COLOURS, channels=3)
    for ranks in ([], ["-p", "dp", "--ranks", 2, "-d", "cpu"]):
        tessera("predict", "-w", run, latin.parent, "-o", folder / f"latin{len(ranks)}", "--probabilities", *ranks)
        check(files_in(folder / f"latin{len(ranks)}") == ["gr\udcfc.png", "gr\udcfc_probabilities.npy"], f"{ranks}")


def training_on_names_of_any_bytes(folder):
    data, run = folder / "d\udce4ten", folder / "l\udce4uf"
    for i in range(4):
        write_png(data / f"images/lat\udce9 {i}.png", 24, 20, lambda y, x: (200, 60 + x, 30 + y + i), channels=3)
        write_png(data / f"masks/lat\udce9 {i}.png", 24, 20, lambda y, x: x % 2)
    options = [f"data.path={data}", "data.classes=[a, \udce9t\udce9]", "data.val_share=0.5", "model.unet.channels=[4]", "train.batch_size=2",
               "run.pictures=1", "train.device=cpu"]
    for command in ("check", "stats"):
        report = json.loads(tessera("data", command, "--json", *options)[0])
        check(report["train"]["classes"] == ["a", "\ufffdt\ufffd"], f"{report}")
    for ranks in ([], ["-p", "dp", "--ranks", 2, "-d", "cpu"]):
        _, errors = tessera("train", *options, "train.duration=2ba", f"run.dir={run}{len(ranks)}", *ranks)
        check("report.html" in files_in(folder / f"{run}{len(ranks)}"), errors)
    drawn = json.loads((folder / f"{run}0/predictions/index.json").read_text())
    check(drawn and all(picture["caption"].startswith("lat\ufffd ") for picture in drawn), f"{drawn}")
    shutil.rmtree(checkpoints(f"{run}0")[-1])
    _, errors = tessera("train", *options, "train.duration=2ba", f"run.dir={run}0", "--resume")
    check("resumed at step 1" in errors and "changed" not in errors, errors)
    report, errors = tessera("eval", "-w", f"{run}0", "--json", "-o", folder / "any_bytes.json")
    check("are not those of the run" not in errors, errors)
    check(json.loads(report) == json.loads((folder / "any_bytes.json").read_text()), report)


def evaluation_is_not_lost(folder, run):
    out, _ = tessera("eval", "-w", run, "-o", folder / "missing/deep/e.json")
    check("mean_iou" in out and json.loads((folder / "missing/deep/e.json").read_text())["metrics"]["mean_iou"] >= 0, out)
    (folder / "file").write_text("no folder")
    for output in (folder / "file/e.json", folder):
        for ranks in ([], ["-p", "dp", "--ranks", 2, "-d", "cpu"]):
            out, errors = tessera("eval", "-w", run, "-o", output, *ranks, expect=1)
            check(f"the output file {output} cannot be written" in errors and not out, f"{out}{errors}")
    (folder / "late.json.tmp").mkdir()  # the temporary name is taken: the folder is writable, the file is not
    out, errors = tessera("eval", "-w", run, "-o", folder / "late.json", expect=1)
    check("cannot write" in errors and "mean_iou" in out, f"{out}{errors}")


def nothing_to_learn_or_evaluate(folder):
    for i in range(4):
        write_png(folder / f"data/images/{i}.png", 24, 20, COLOURS, channels=3)
        write_png(folder / f"data/masks/{i}.png", 24, 20, lambda y, x: x % 2)
    run = folder / "no_val"
    options = [f"data.path={folder}/data", "data.classes=[a,b]", "data.val_share=0", "model.unet.channels=[4]", "train.batch_size=4",
               "train.duration=1ba", "run.pictures=0", "train.device=cpu"]
    _, errors = tessera("train", *options, f"run.dir={run}")
    check("nothing is learned" not in errors, errors)
    before = {path.name: path.read_bytes() for path in (folder / "data/masks").iterdir()}
    _, errors = tessera("predict", "-w", run, folder / "data/images", "-o", folder / "data/masks", expect=2)
    check("holds masks of the data set" in errors, errors)
    check(before == {path.name: path.read_bytes() for path in (folder / "data/masks").iterdir()}, "masks were replaced")
    _, errors = tessera("train", *options, "data.labels.ignore=[0,1]", f"run.dir={folder}/no_labels")
    check(errors.count("nothing is learned: loss and gradient are exactly 0 at step 1.") == 1, errors)
    out, errors = tessera("eval", "-w", run, expect=1)
    check("there is nothing to evaluate: the validation split has no image; set data.val_share above 0" in errors and not out, f"{out}{errors}")
    out, _ = tessera("eval", "-w", run, "data.val_share=0.5")
    check("images                       2 " in out, out)
    out, _ = tessera("eval", "-w", run, "--train-split")
    check("images                       4 " in out, out)


def demo_replaces_only_demos(folder):
    small = ["train.duration=1ba", "train.batch_size=2", "data.train.count=2", "data.val.count=1", "model.unet.channels=[4]", "train.device=cpu"]
    for name in ("project/thesis.txt", "demo/notes.txt"):
        (folder / name).parent.mkdir()
        (folder / name).write_text("mine")
    _, errors = tessera("demo", "-o", folder / "project", *small, expect=2)
    check("holds no demo" in errors and files_in(folder / "project") == ["thesis.txt"], errors)
    (folder / "demo/.demo").touch()
    (folder / "demo/log.jsonl").write_text("of an earlier demo")
    tessera("demo", "-o", folder / "demo", *small)
    check((folder / "demo/notes.txt").read_text() == "mine" and (folder / "demo/new_fields.png").exists(), files_in(folder / "demo"))


def lost_output_is_a_failure(folder, run):
    def limit_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))

    done = subprocess.run([program(), "export", "weights", "-w", run, "-o", folder / "large.pth"], capture_output=True, text=True, preexec_fn=limit_files)
    check(done.returncode == 1 and "File too large" in done.stderr, f"{done.returncode} {done.stderr}")
    check(not list(folder.glob("large.pth*")), "a part of the file was left")
    if pathlib.Path("/dev/full").is_char_device():
        with open("/dev/full", "w") as full:
            done = subprocess.run([program(), "models", "--json"], stdout=full, stderr=subprocess.PIPE, text=True)
        check(done.returncode == 1 and "cannot write all results" in done.stderr, f"{done.returncode} {done.stderr}")


def format_of(path):
    if zipfile.is_zipfile(path):
        names = zipfile.ZipFile(path).namelist()
        return "npz" if all(name.endswith(".npy") for name in names) else "pth"
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return "safetensors" if json.loads(file.read(length)) else "empty"


def format_follows_the_extension(folder, run):
    for name, options, expected in [("m.pth", [], "pth"), ("m.PT", [], "pth"), ("new/m.npz", [], "npz"), ("m.safetensors", [], "safetensors"),
                                    ("m.weights", [], "safetensors"), ("m.bin", ["--format", "pth"], "pth"), ("m2.pt", ["--format", "pth"], "pth")]:
        tessera("export", "weights", "-w", run, "-o", folder / name, *options)
        check(format_of(folder / name) == expected, f"{name} {options} is {format_of(folder / name)}, expected {expected}")
    _, errors = tessera("export", "weights", "-w", run, "-o", folder / "x.pth", "--format", "npz", expect=2)
    check("--format npz and --output" in errors and ".pth files are of format pth" in errors, errors)
    check(not (folder / "x.pth").exists(), "written all the same")


if __name__ == "__main__":
    with Folder() as temporary:
        trained = temporary / "run"
        tessera("train", *TINY, "train.duration=1ba", "train.device=cpu", f"run.dir={trained}")
        for part in (inputs_are_kept, results_are_kept_apart, lists_may_be_separated_by_nuls, names_may_be_any_bytes, evaluation_is_not_lost,
                     lost_output_is_a_failure, format_follows_the_extension):
            part(temporary, trained)
            print(f"{part.__name__}: ok")
        for part in (nothing_to_learn_or_evaluate, training_on_names_of_any_bytes, demo_replaces_only_demos):
            part(temporary)
            print(f"{part.__name__}: ok")
