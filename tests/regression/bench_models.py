"""bench/models.py on a CPU: one config of every registered model, narrowed, at a tiny size."""
import json
import pathlib
import re
import subprocess
import sys

from support import TINY, Folder, check, program

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONE_EACH = ["deeplabv3_r50", "deeplabv3plus_r50", "fcn_r50", "pspnet_r50", "segmenter_ti16", "unet_microscopy", "unet_r34", "upernet_r50",
            "upernet_vit_b16"]
NARROW = ["model.backbone.width=4", "model.backbone.stem_width=8", "model.segmenter.width=16", "model.segmenter.heads=2",
          "model.upernet_vit.width=16", "model.upernet_vit.heads=2", "model.upernet_vit.layers=4", "model.segmenter.layers=2"]


def bench(folder, *arguments):
    return subprocess.run([sys.executable, ROOT / "bench/models.py", pathlib.Path(program()).resolve().parents[1], "--size", "32", "--batch", "2",
                           "--classes", "5", "--device", "cpu", "--steps", "1", "--warmup", "0", "--out", folder / "rows.json", *arguments],
                          capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)


def an_epoch_of_bench_step_is_one_of_a_run():
    """Two steps of 8 of 16 images are an epoch, so behind the milestone the weights, and with them the loss of the one batch, stand still."""
    done = subprocess.run([program(), "bench", "step", *TINY, "data.train.count=16", "model.unet.dropout=0", "schedule.type=step",
                           "schedule.milestones=[1ep]", "schedule.gamma=1e-300", "--steps", "5", "--warmup", "0"],
                          capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
    check(done.returncode == 0, done.stderr)
    losses = json.loads(done.stdout)["losses"]
    check(losses[0] != losses[1] != losses[2] and losses[2] == losses[3] == losses[4], f"an epoch is not 2 steps: {losses}")


if __name__ == "__main__":
    an_epoch_of_bench_step_is_one_of_a_run()
    used = {next(line.split()[1] for line in (ROOT / f"configs/base/models/{name}.yaml").read_text().splitlines() if "name:" in line)
            for name in ONE_EACH}
    registered = set(re.findall(r"^TESSERA_MODEL\((\w+)\)", (ROOT / "src/nn/models.def").read_text(), re.M))
    check(used == registered, f"configs of {used}, registered are {registered}")
    with Folder() as temporary:
        done = bench(temporary, "--only", ",".join(ONE_EACH), *[word for text in NARROW for word in ("--set", text)])
        check(done.returncode == 0, done.stdout + done.stderr)
        rows = json.loads((temporary / "rows.json").read_text())
        for name in ONE_EACH:
            check(rows[name]["ms_median"] > 0 and rows[name]["peak_memory_bytes"] > 1e7 and name in done.stdout, f"{name}: {rows[name]}")
        wrong = bench(temporary, "--only", "unet_microscopy", "--set", "model.unet.channels=x")
        check(wrong.returncode == 1 and "whole number" in wrong.stdout, wrong.stdout + wrong.stderr)
        check(bench(temporary, "--only", "nothing").returncode != 0, "an empty choice must fail")
    print("bench/models.py works")
