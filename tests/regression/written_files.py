"""What predict, eval, export and demo write, and where: an input is never replaced, no result is written over another, and what
cannot be written or measured is said before the work. Nothing is written through what others put into the way, runs are their user's unless
they are shared, and names move no cursor and make no lines."""
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


def nothing_is_written_through_planted_links(folder, run):
    """Each name that a temporary file of a result has had, or could have, leads to another file."""
    out = folder / "planted"
    write_png(folder / "one/d.png", 24, 20, COLOURS, channels=3)
    out.mkdir()
    victim = folder / "victim.txt"
    victim.write_text("mine")
    for name in ("d.png.tmp", ".d.png.tmp", ".tessera-probe-1", ".tessera-0000000000000000.tmp", "e.json.tmp"):
        (out / name).symlink_to(victim)
    (out / ".tessera-0123456789abcdef.tmp").write_text("left by a process that was killed")
    tessera("predict", "-w", run, folder / "one/d.png", "-o", out)
    tessera("eval", "-w", run, "-o", out / "e.json")
    check(victim.read_text() == "mine", "another file was overwritten")
    check((out / "d.png").is_file() and not (out / "d.png").is_symlink() and not (out / "e.json").is_symlink(), files_in(out))
    check(not (out / ".tessera-0123456789abcdef.tmp").exists(), "what a killed process left is still there")
    # A link in the place of the result itself is followed, as cp does: it is the user's own.
    (out / "d.png").unlink()
    (out / "d.png").symlink_to(folder / "elsewhere.png")
    tessera("predict", "-w", run, folder / "one/d.png", "-o", out)
    check((out / "d.png").is_symlink() and (folder / "elsewhere.png").read_bytes()[:4] == b"\x89PNG", "the link was replaced")
    if os.geteuid() == 0:  # but not another user's in a folder where others may write
        (out / "d.png").unlink()
        (out / "d.png").symlink_to(victim)
        os.lchown(out / "d.png", 12345, 12345)
        out.chmod(0o1777)
        _, errors = tessera("predict", "-w", run, folder / "one/d.png", "-o", out, expect=1)
        check("it is a link of another user (uid 12345) in a folder where others may write" in errors, errors)
        check(victim.read_text() == "mine", "another user's link was followed")


def permissions(folder, run):
    before = os.umask(0o022)
    try:
        check_permissions(folder, run)
    finally:
        os.umask(before)


def check_permissions(folder, run):
    def modes(place):
        """Of all that is in a run folder; its own is that of '.'."""
        return {p.relative_to(place).as_posix(): p.stat().st_mode & 0o777 for p in [place, *place.rglob("*")]}

    def expect(place, of_folders, of_files):
        for name, mode in modes(place).items():
            wanted = of_folders if (place / name).is_dir() else of_files
            check(mode == wanted, f"{place / name} has mode {mode:o}, expected {wanted:o}")

    tiny = [*TINY, "train.duration=2ba", "train.device=cpu", "run.pictures=1"]
    expect(run, 0o700, 0o600)  # made with whatever umask this test was started
    tessera("train", *tiny, f"run.dir={folder}/runs/private")
    expect(folder / "runs/private", 0o700, 0o600)
    check((folder / "runs").stat().st_mode & 0o777 == 0o755, "the folder above a run is not as the umask says")
    tessera("train", *tiny, f"run.dir={folder}/runs/ranks", "-p", "ddp", "--ranks", 2)
    check(modes(folder / "runs/ranks")["."] == 0o700 and modes(folder / "runs/ranks")["logs"] == 0o700, f"{modes(folder / 'runs/ranks')}")
    tessera("train", *tiny, f"run.dir={folder}/runs/open", "run.permissions=umask")
    expect(folder / "runs/open", 0o755, 0o644)
    (folder / "project").mkdir()
    (folder / "project").chmod(0o2770)
    tessera("train", *tiny, f"run.dir={folder}/project/shared")
    expect(folder / "project/shared", 0o750, 0o640)
    os.umask(0o077)
    tessera("train", *tiny, f"run.dir={folder}/runs/strict", "run.permissions=umask")
    expect(folder / "runs/strict", 0o700, 0o600)
    os.umask(0o022)
    # What a user shares stays shared, also where it is made anew.
    (folder / "runs/private/report.html").chmod(0o644)
    tessera("report", folder / "runs/private")
    check((folder / "runs/private/report.html").stat().st_mode & 0o777 == 0o644, "a report that was shared no longer is")
    # What is named with -o is as other programs make it.
    write_png(folder / "one/d.png", 24, 20, COLOURS, channels=3)
    tessera("predict", "-w", run, folder / "one/d.png", "-o", folder / "out")
    tessera("export", "weights", "-w", run, "-o", folder / "open.pth")
    for path, mode in [(folder / "out", 0o755), (folder / "out/d.png", 0o644), (folder / "open.pth", 0o644)]:
        check(path.stat().st_mode & 0o777 == mode, f"{path} has mode {path.stat().st_mode & 0o777:o}, expected {mode:o}")


def names_make_no_lines(folder):
    """Names of files and classes with control characters, in every output for people; lists can be read back."""
    evil = "z\x1b[31mRED\nE 00:00:00 all fine"
    data = folder / "evil"
    for i, name in enumerate([f"{evil} {i}" for i in range(6)] + ["tab\tname", "plain"]):
        write_png(data / f"images/{name}.png", 24, 20, lambda y, x: (200, 60 + x, 30 + y + i), channels=3)
        write_png(data / f"masks/{name}.png", 24, 20, lambda y, x: x % 2)
    broken = data / f"masks/{evil} 0.png"
    broken.write_bytes(broken.read_bytes()[:60])
    (folder / "evil.yaml").write_text(f'data: {{path: "{data}", classes: [a, "x\\e[31m\\nE 00:00:00 fake"], max_bad_share: 0.5, val_share: 0.25}}\n')
    run = folder / "evil run"
    options = ["model.unet.channels=[4]", "train.batch_size=2", "train.duration=8ba", "run.pictures=1", "train.device=cpu", f"run.dir={run}"]
    commands = [(["data", "check", folder / "evil.yaml"], 1), (["data", "stats", folder / "evil.yaml"], 0), (["data", "list", folder / "evil.yaml"], 0),
                (["train", folder / "evil.yaml", *options], 0), (["eval", "-w", run], 0),
                (["train", folder / "evil.yaml", *options[:-1], f"run.dir={run}2", "data.max_bad_share=0"], 1),
                (["predict", "-w", run, data / "masks", "-o", folder / "evil out"], 1)]
    for arguments, code in commands:
        out, errors = tessera(*arguments, expect=code)
        check("\x1b" not in out + errors, f"{arguments}: an escape reached the terminal: {out}{errors}")
        lines = [line for line in (out + errors).splitlines() if line.startswith("E 00:00:00")]
        check(not lines, f"{arguments}: a name made a line: {lines}")
        check(arguments[0] == "predict" or r"\x1b[31m" in out + errors or arguments[1] == "stats", f"{arguments}: the name is gone: {out}{errors}")
    listing, _ = tessera("data", "list", folder / "evil.yaml")
    check(len(listing.splitlines()) == 8 and all(line.count("\t") == 1 for line in listing.splitlines()), listing)
    whole, _ = tessera("data", "list", "-0", folder / "evil.yaml")
    names = {entry.split("\t", 1)[1] for entry in whole.split("\0") if entry}
    check(names == {p.stem for p in (data / "images").iterdir()}, f"{names}")
    (data / "list.txt").write_text("".join(line.split("\t")[1] + "\n" for line in listing.splitlines()))
    again, _ = tessera("data", "list", folder / "evil.yaml", "data.train.list=list.txt", "data.val_share=0", "--split", "train")
    check(sorted(line.split("\t")[1] for line in again.splitlines()) == sorted(line.split("\t")[1] for line in listing.splitlines()), again)


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
    (folder / "late.json").symlink_to(folder / "nowhere/late.json")  # the folder is writable, what the link leads to is not
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
    _, errors = tessera("train", *options, "data.labels.ignore=[0,1]", f"run.dir={folder}/no_labels", expect=2)
    check("not one pixel of the 4 training samples is labelled" in errors and not (folder / "no_labels").exists(), errors)
    out, errors = tessera("eval", "-w", run, expect=1)
    check("there is nothing to evaluate: the validation split has no image; set data.val_share above 0" in errors and not out, f"{out}{errors}")
    out, _ = tessera("eval", "-w", run, "data.val_share=0.5")
    check("images                       2 " in out, out)
    out, _ = tessera("eval", "-w", run, "--train-split")
    check("images                       4 " in out, out)


def demo_replaces_only_demos(folder):
    small = ["train.duration=1ba", "train.batch_size=2", "data.train.count=2", "data.val.count=1", "model.unet.channels=[4]", "train.device=cpu"]
    for name in ("thesis/chapter.txt", "demo/notes.txt"):
        (folder / name).parent.mkdir()
        (folder / name).write_text("mine")
    _, errors = tessera("demo", "-o", folder / "thesis", *small, expect=2)
    check("holds no demo" in errors and files_in(folder / "thesis") == ["chapter.txt"], errors)
    (folder / "demo/.demo").touch()
    (folder / "demo/log.jsonl").write_text("of an earlier demo")
    tessera("demo", "-o", folder / "demo", *small)
    check((folder / "demo/notes.txt").read_text() == "mine" and (folder / "demo/new_fields.png").exists(), files_in(folder / "demo"))


def lost_output_is_a_failure(folder, run):
    def limit_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))

    done = subprocess.run([program(), "export", "weights", "-w", run, "-o", folder / "large.pth"], capture_output=True, text=True, preexec_fn=limit_files)
    check(done.returncode == 1 and "File too large" in done.stderr, f"{done.returncode} {done.stderr}")
    check(not list(folder.glob("large.pth*")) and not list(folder.glob(".tessera-*")), "a part of the file was left")
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
                                    ("m.weights", ["--format", "safetensors"], "safetensors"), ("m.bin", ["--format", "pth"], "pth"), ("m2.pt", ["--format", "pth"], "pth")]:
        tessera("export", "weights", "-w", run, "-o", folder / name, *options)
        check(format_of(folder / name) == expected, f"{name} {options} is {format_of(folder / name)}, expected {expected}")
    _, errors = tessera("export", "weights", "-w", run, "-o", folder / "x.pth", "--format", "npz", expect=2)
    check("--format npz and --output" in errors and ".pth files are of format pth" in errors, errors)
    check(not (folder / "x.pth").exists(), "written all the same")
    for name in ("m.onnx", "m.weights2"):
        _, errors = tessera("export", "weights", "-w", run, "-o", folder / name, expect=2)
        check("files cannot be written; expected .safetensors, .pth, .pt or .npz" in errors and not (folder / name).exists(), errors)


if __name__ == "__main__":
    with Folder() as temporary:
        trained = temporary / "run"
        tessera("train", *TINY, "train.duration=1ba", "train.device=cpu", f"run.dir={trained}")
        for part in (inputs_are_kept, results_are_kept_apart, lists_may_be_separated_by_nuls, nothing_is_written_through_planted_links, permissions,
                     names_may_be_any_bytes, evaluation_is_not_lost, lost_output_is_a_failure, format_follows_the_extension):
            part(temporary, trained)
            print(f"{part.__name__}: ok")
        for part in (nothing_to_learn_or_evaluate, training_on_names_of_any_bytes, names_make_no_lines, demo_replaces_only_demos):
            part(temporary)
            print(f"{part.__name__}: ok")
