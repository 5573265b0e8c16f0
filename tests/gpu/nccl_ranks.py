"""NCCL: 2 and 4 ranks, plain and ZeRO-1, on the GPUs that are there (all on one, if there is one) give the float64 weights of one rank:
nccl_ranks.py PROGRAM. Skipped without a GPU."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "regression"))
from support import TINY, Folder, check, checkpoints, program, tessera, weights_differ  # noqa: E402


def main():
    if "gpu 0" not in subprocess.run([program(), "doctor"], capture_output=True, text=True).stdout:
        print("no GPU: skipped")
        raise SystemExit(77)
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


if __name__ == "__main__":
    main()
