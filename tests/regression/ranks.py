"""One experiment on one rank, on threads, on processes, with ZeRO-1, with unequal ranks, stopped and resumed on other numbers of ranks:
float64 weights agree to 1e-9 and metrics to the last digit. The data lies in files, with pixels that are not labelled, unevenly, and one
file that is broken."""
import json
import re
import shutil

from support import Folder, check, checkpoints, log_lines, tessera, weights_differ, write_png

TOLERANCE = 1e-9


def make_data(folder, count=18, size=40):
    for i in range(count):
        def label(y, x, i=i):
            if i % 5 == 0 or (i % 5 == 1 and y < 3 * (i + 1)):
                return 255
            return 1 if (x - 20) ** 2 + (y - 15 - i % 7) ** 2 < (6 + i % 9) ** 2 else 2 if x + y > 60 + i % 11 else 0

        def colour(y, x, i=i):
            return [(37 * i + 90 * (label(y, x) % 3) + 3 * ((x * y) % 17)) % 256, (x * 5 + i * 11) % 256, (y * 6) % 256]

        write_png(folder / "images" / f"{i:02}.png", size, size, colour, channels=3)
        write_png(folder / "masks" / f"{i:02}.png", size, size, label)
    broken = folder / "images" / "07.png"
    broken.write_bytes(broken.read_bytes()[:200])


def options_for(folder):
    return ["data.type=pairs", f"data.path={folder}/data", "data.classes=[ground,disc,corner]", "data.labels.ignore=[255]",
            "data.max_bad_share=0.2", "data.train.transforms=[{random_crop: {size: 32}}, flip, photometric]", "model.unet.channels=[4,8]",
            "model.unet.dropout=0.2", "train.batch_size=6", "train.norm_group=3", "train.seed=3", "train.precision=fp64",
            "loss.type=ce_dice", "optimizer.type=adamw", "optimizer.lr=0.01", "optimizer.eps=1e-4", "optimizer.clip_norm=1", "train.duration=20ba",
            "eval.every=10ba", "checkpoint.every=5ba", "checkpoint.keep_last=9", "run.log_every=5ba", "run.pictures=0",
            "run.tensorboard=false", "data.threads=1"]


def metrics(run):
    last = [line for line in log_lines(run) if line["type"] == "eval"][-1]
    return {key: value for key, value in last.items() if key not in ("seconds", "time")}


def expect_same(folder, name, reference="one"):
    difference = weights_differ(checkpoints(folder / reference)[-1], checkpoints(folder / name)[-1])
    check(difference < TOLERANCE, f"{name}: weights differ by {difference} from {reference}")
    check(metrics(folder / name) == metrics(folder / reference), f"{name}: {metrics(folder / name)}\n{reference}: {metrics(folder / reference)}")
    print(f"{name}: weights within {difference:.1e}, metrics equal")


def main():
    with Folder() as folder:
        make_data(folder / "data")
        options = options_for(folder)

        def train(name, *flags, expect=0):
            return tessera("train", *options, f"run.dir={folder}/{name}", *flags, expect=expect)

        train("one")
        for name, flags in {
            "threads_2": ["-p", "dp", "--ranks", "2"],
            "processes_2": ["-p", "ddp", "--ranks", "2", "--timeline", f"{folder}/timeline.json"],
            "zero1_3": ["-p", "zero1", "--ranks", "3"],
            "weighted_2": ["-p", "dp", "--ranks", "2", "dist.rank_weights=[3,1]", "train.micro_batch=3"],
            "measured_2": ["-p", "ddp", "--ranks", "2", "dist.rank_weights=auto", "dist.bucket_mb=0.001"],
        }.items():
            train(name, *flags)
            expect_same(folder, name)
        bad = {line["id"] for line in log_lines(folder / "processes_2") if line["type"] == "bad_sample"}
        check(bad == {line["id"] for line in log_lines(folder / "one") if line["type"] == "bad_sample"} and len(bad) == 1, f"bad samples: {bad}")
        events = json.loads((folder / "timeline.json").read_text())["traceEvents"]
        for rank in (0, 1):
            names = {event["name"] for event in events if event["pid"] == rank}
            check({"forward", "backward", "reduce", "wait", "optimizer"} <= names, f"timeline of rank {rank}: {names}")

        # Stopped in the middle of an epoch on 2 ranks, resumed on others; ZeRO-1 state too.
        train("part", "-p", "zero1", "--ranks", "2", "train.duration=20ba")
        for step in checkpoints(folder / "part"):
            if step.name != "step-00000005":
                for file in step.iterdir():
                    file.unlink()
                step.rmdir()
        for name, flags in {"resumed_1": [], "resumed_4": ["-p", "ddp", "--ranks", "4"], "resumed_3": ["-p", "dp", "--ranks", "3"]}.items():
            shutil.copytree(folder / "part", folder / name)
            train(name, "--resume", *flags)
            expect_same(folder, name)

        whole, _ = tessera("eval", "-w", folder / "one", "--json")
        for flags in (["-p", "dp", "--ranks", "2"], ["-p", "ddp", "--ranks", "3"]):
            found, _ = tessera("eval", "-w", folder / "one", "--json", *flags)
            a, b = json.loads(whole), json.loads(found)
            a.pop("seconds", None), b.pop("seconds", None)
            check(a == b, f"eval {flags}:\n{found}\n{whole}")
        tessera("predict", "-w", folder / "one", folder / "data/images", "-o", folder / "p1", expect=1)
        tessera("predict", "-w", folder / "one", folder / "data/images", "-o", folder / "p2", "-p", "ddp", "--ranks", "2", expect=1)
        names = sorted(path.name for path in (folder / "p1").glob("*.png"))
        check(len(names) == 17 and names == sorted(path.name for path in (folder / "p2").glob("*.png")), f"predictions: {names}")
        check(all((folder / "p1" / name).read_bytes() == (folder / "p2" / name).read_bytes() for name in names), "predictions differ")

        # Settings that a launcher's user meets.
        _, errors = train("none", "--ranks", "2", expect=2)
        check("need -p dp" in errors, errors)
        _, errors = train("wrong", "-p", "dp", "--ranks", "2", "dist.rank_weights=[1,2,3]", expect=2)
        check("3 numbers for 2 ranks" in errors, errors)
        print("settings: errors name what to do")

        # How gradients travel is chosen once in a run, and what was asked for is not replaced.
        for name, asked in {"tuned": [], "tuned_fp16": ["dist.compression=fp16"]}.items():
            two = ["-p", "dp", "--ranks", "2", *asked]
            _, errors = train(name, *two, "--autotune-comm")
            choice = re.search(r"chosen dist.bucket_mb=\S+ dist.compression=(\S+)", errors)
            check(choice and (not asked or choice[1] == "fp16"), errors)
            for step in checkpoints(folder / name)[1:]:
                shutil.rmtree(step)
            shutil.copytree(folder / name, folder / f"{name}_again")
            for run, flags in {name: ["--autotune-comm"], f"{name}_again": []}.items():
                _, errors = train(run, "--resume", *two, *flags)
                check("chosen for this run: " + choice[0].removeprefix("chosen ") in errors, errors)
                check(checkpoints(folder / run)[-1].name == "step-00000020", f"{run} was not resumed to its end")
        expect_same(folder, "tuned_again", "tuned")
        print("--autotune-comm: chosen once, also where the run is resumed")


if __name__ == "__main__":
    main()
