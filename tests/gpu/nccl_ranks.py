"""NCCL, on the GPUs that are there (all ranks on one, if there is one): 2 and 4 ranks, plain and ZeRO-1, give the float64 weights of one rank,
and ranks that share the windows of one image write what one rank writes: nccl_ranks.py PROGRAM. Skipped without a GPU."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "regression"))
from shared_image import WINDOWS, make_image, results  # noqa: E402
from support import TINY, Folder, check, checkpoints, program, tessera, weights_differ  # noqa: E402


def check_training():
    options = TINY + ["train.precision=fp64", "train.duration=20ba", "loss.type=ce_dice", "optimizer.eps=1e-4", "run.tensorboard=false"]
    for norm_group in (2, 8):  # whole on a rank, and spread over all
        with Folder() as folder:
            common = [*options, f"train.norm_group={norm_group}"]
            tessera("train", *common, f"run.dir={folder}/one", "-d", "0")
            for mode in ("ddp", "zero1"):
                for ranks in (2, 4):
                    name = f"{mode}_{ranks}"
                    tessera("train", *common, f"run.dir={folder}/{name}", "-d", "0", "-p", mode, "--ranks", ranks)
                    difference = weights_differ(checkpoints(folder / "one")[-1], checkpoints(folder / name)[-1])
                    print(f"norm_group {norm_group}, {mode} on {ranks} ranks: weights within {difference:.1e}")
                    check(difference < 1e-9, f"{name}: weights differ by {difference}")


def check_shared_image():
    with Folder() as folder:
        run, image = folder / "run", folder / "image.png"
        tessera("train", *TINY, "train.duration=6ba", "run.tensorboard=false", f"run.dir={run}", "-d", "0")
        make_image(image, 83, 150, 0)
        fixed = ["--set", "train.deterministic=true"]  # else each process takes the convolutions that it finds the fastest
        for name, options in (("plain", []), ("views", ["--set", "eval.flip=true", "--set", "eval.scales=[0.5,1,1.25]"])):
            for ranks in (1, 2, 3):
                out = folder / f"{name}{ranks}"
                flags = [] if ranks == 1 else ["-p", "ddp", "--ranks", ranks]
                _, errors = tessera("predict", "-w", run, "-o", out, image, "-d", "0", *fixed, *flags, *options, *WINDOWS)
                check(("windows are shared by" in errors) == (ranks > 1), f"{name} on {ranks} ranks: {errors}")
                check(results(out) == results(folder / f"{name}1"), f"{name}: the classes of {ranks} ranks differ from one rank's")
            print(f"one image in windows, {name}, on 2 and 3 ranks: the same bytes")


def main():
    if "gpu 0" not in subprocess.run([program(), "doctor"], capture_output=True, text=True).stdout:
        print("no GPU: skipped")
        raise SystemExit(77)
    check_shared_image()
    check_training()


if __name__ == "__main__":
    main()
