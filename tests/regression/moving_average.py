"""A run with an average of its weights (and LAMB, whose lengths are of whole tensors): evaluation, prediction and export use the average
unless asked for the weights as trained; stopped and resumed it ends in the same bits, and on other ranks, with ZeRO-1 too, within 1e-9."""
import json
import shutil

from support import TINY, Folder, check, checkpoints, final_hash, log_lines, read_doubles, tessera, weights_differ, write_png

OPTIONS = TINY + ["train.precision=fp64", "train.duration=12ba", "eval.every=4ba", "checkpoint.every=4ba", "checkpoint.keep_last=9",
                  "run.tensorboard=false", "data.threads=1", "optimizer.type=lamb", "optimizer.lr=0.05", "optimizer.eps=1e-4",
                  "optimizer.weight_decay=0.01", "train.ema.half_life=3ba", "train.ema.start=2ba", "train.ema.update_interval=2ba"]
TOLERANCE = 1e-9


def keep_only(run, name):
    for folder in checkpoints(run):
        if folder.name != name:
            shutil.rmtree(folder)


def metrics(text):
    return json.loads(text)["metrics"]


def plain_mean(folder):
    """SWA: evaluated, with batch norm's statistics measured for it; saved as it was evaluated; resumed."""
    options = [*OPTIONS, "train.ema.half_life=0ba", "train.swa.start=4ba", "train.swa.update_interval=2ba", "train.swa.lr=0.02",
               "train.precise_bn.batches=2"]
    whole = folder / "mean"
    tessera("train", *options, f"run.dir={whole}")
    evaluated = [line for line in log_lines(whole) if line["type"] == "eval"]
    check([line["averaged"] for line in evaluated] == [False, True, True], evaluated)
    for step, line in ((8, evaluated[1]), (12, evaluated[2])):
        found, _ = tessera("eval", "-w", whole / f"checkpoints/step-{step:08}", "--json")
        check(metrics(found) == line["metrics"], f"the checkpoint of step {step} is not what was evaluated: {found}{line}")
    last = checkpoints(whole)[-1]
    for name, flags in (("mean-again", []), ("mean-split", ["-p", "zero1", "--ranks", "2"])):
        shutil.copytree(whole, folder / name)
        keep_only(folder / name, "step-00000008")
        tessera("train", *options, f"run.dir={folder}/{name}", "--resume", *flags)
        if not flags:
            check(final_hash(folder / name) == final_hash(whole), "resumed run ends in other bits")
        for file in ("model.safetensors", "ema.safetensors"):
            difference = weights_differ(last, checkpoints(folder / name)[-1], file)
            check(difference < TOLERANCE, f"{name}: {file} differs by {difference}")
    _, errors = tessera("train", *options, "train.ema.smoothing=0.9", f"run.dir={folder}/both", expect=2)
    check("one average" in errors, errors)
    _, errors = tessera("train", *options, "train.swa.start=12ba", f"run.dir={folder}/never")
    check("there will be no average" in errors, errors)
    print("plain mean: evaluated, measured, resumed on 1 and 2 ranks")


def main():
    with Folder() as folder:
        plain_mean(folder)
        one = folder / "one"
        _, errors = tessera("train", *OPTIONS, f"run.dir={one}")
        check("of the averaged weights" in errors, errors)
        last = checkpoints(one)[-1]
        average, raw = read_doubles(last / "ema.safetensors"), read_doubles(last / "model.safetensors")
        check(average.keys() == raw.keys() and average != raw, "the average must hold all that the model does, with other values")

        # What evaluation during training measured is what eval measures, and is not that of the weights as trained.
        evaluated = [line for line in log_lines(one) if line["type"] == "eval"]
        check(len(evaluated) == 3 and all(line["averaged"] for line in evaluated), evaluated)
        found, errors = tessera("eval", "-w", last, "--json")
        check("moving average of the weights" in errors and metrics(found) == evaluated[-1]["metrics"], f"{errors}{found}{evaluated[-1]}")
        other, errors = tessera("eval", "-w", last, "--json", "--raw-weights")
        check("moving average" not in errors and metrics(other) != metrics(found), f"{errors}{other}")

        for flags, expected in (([], average), (["--raw-weights"], raw)):
            tessera("export", "weights", "-w", last, "-o", folder / "weights.safetensors", *flags)
            check(read_doubles(folder / "weights.safetensors") == expected, f"export {flags} wrote other weights")
        write_png(folder / "image.png", 48, 48, lambda y, x: [(x * y) % 256, (5 * x) % 256, (3 * y) % 256], channels=3)
        for name, flags in (("p1", []), ("p2", ["--raw-weights"])):
            tessera("predict", "-w", last, folder / "image.png", "--probabilities", "-o", folder / name, *flags)
        first, second = ((folder / name / "image_probabilities.npy").read_bytes() for name in ("p1", "p2"))
        check(first != second, "both kinds of weights predict the same")

        # Resumed in the middle, before and after the average began to move.
        for name, step, flags in (("again", "step-00000004", []), ("split", "step-00000008", ["-p", "zero1", "--ranks", "2"]),
                                  ("three", "step-00000004", ["-p", "dp", "--ranks", "3"])):
            shutil.copytree(one, folder / name)
            keep_only(folder / name, step)
            tessera("train", *OPTIONS, f"run.dir={folder}/{name}", "--resume", *flags)
            if not flags:
                check(final_hash(folder / name) == final_hash(one), "resumed run ends in other bits")
            newest = checkpoints(folder / name)[-1]
            for file in ("model.safetensors", "ema.safetensors"):
                difference = weights_differ(last, newest, file)
                check(difference < TOLERANCE, f"{name}: {file} differs by {difference}")
        # And saved by ZeRO-1's ranks, which have a slice of it each.
        keep_only(folder / "split", "step-00000012")
        found, _ = tessera("eval", "-w", folder / "split", "--json")
        check(metrics(found) == evaluated[-1]["metrics"], found)

        _, errors = tessera("train", *OPTIONS, "train.ema.smoothing=0.9", f"run.dir={folder}/both", expect=2)
        check("one follows from the other" in errors, errors)

        # An average that hardly leaves the weights it began with is warned of, in the run's log too; the warm-up makes it leave.
        slow = [*OPTIONS, "train.ema.half_life=0ba", "train.ema.smoothing=0.999", "train.ema.start=0ba", "train.ema.update_interval=1ba"]
        expected = "99 % are still those of step 0 at the end of the run (step 12), 100 % at the first evaluation (step 4)"
        _, errors = tessera("train", *slow, f"run.dir={folder}/slow")
        check("(step 4)" in errors and "of the averaged weights, 99 % still those of step 0: mean IoU" in errors, errors)
        check(expected in errors and any(expected in line.get("text", "") for line in log_lines(folder / "slow")), errors)
        _, errors = tessera("train", *slow, "train.ema.warmup=true", f"run.dir={folder}/warm")
        check("are still those" not in errors, errors)
        _, errors = tessera("train", *slow, "eval.weights=raw", f"run.dir={folder}/raw")
        check("are still those" not in errors, errors)

        # Another run that starts from this one, by its folder, starts from the average.
        frozen = [*OPTIONS, "optimizer.type=sgd", "optimizer.weight_decay=0", "optimizer.lr=1e-300", "train.duration=1ba", "train.ema.half_life=0ba"]
        _, errors = tessera("train", *frozen, f"run.dir={folder}/tuned", f"model.pretrained={last}")
        found = read_doubles(checkpoints(folder / "tuned")[-1] / "model.safetensors")
        check(all(found[name] == average[name] for name in found if "running" not in name and "num_batches" not in name), f"{errors}: other weights")
        _, errors = tessera("train", *OPTIONS, "train.ema.half_life=5ba", f"run.dir={one}", "--resume", expect=2)
        check("train.ema.half_life: 3ba in the run, 5ba now" in errors, errors)
        print("average: evaluated, exported, resumed on 1, 2 and 3 ranks")


if __name__ == "__main__":
    main()
