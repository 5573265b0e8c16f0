"""Loading training data beside PyTorch's DataLoader with Pillow, torchvision and albumentations, on equal cores, in one run:
bench/loader.py BUILD_DIR [--out FILE].

One recipe for all: photos of COCO and masks as PNG, scale 0.5-2, crop of 512, mirror, colours, normalise; float32 images and int64 masks
come out. Everybody takes turns on the same one core, then on two, for --rounds rounds; numbers are medians. Beside images/s by the clock
stand images per second of CPU time, which others on the machine disturb less. The photos are read from the folder coco_tiny of
$TESSERA_DATA; its outlines are painted into masks once, by pycocotools. The mean difference of our resized images from Pillow's, and what
a further loader thread costs in memory, are measured as well.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

import numpy as np
from PIL import Image

from runs import ROOT, last_json, program

KINDS = ("pillow", "torchvision", "albumentations")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=400, help="of a turn of ours; the others load a fifth as many")
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def write_masks(source, target):
    """Photos and painted masks: the smallest outline on top, as ours paints them."""
    from pycocotools.coco import COCO
    for folder in ("images", "masks"):
        (target / folder).mkdir(parents=True)
    for split in ("train2017", "val2017"):
        coco = COCO(source / f"annotations/instances_{split}.json")
        classes = {category: i + 1 for i, category in enumerate(sorted(coco.getCatIds()))}
        for photo in coco.dataset["images"]:
            file = source / split / photo["file_name"]
            if not file.exists():
                continue
            mask = np.zeros((photo["height"], photo["width"]), np.uint8)
            for outline in sorted(coco.loadAnns(coco.getAnnIds(photo["id"])), key=lambda outline: -outline["area"]):
                mask[coco.annToMask(outline) > 0] = classes[outline["category_id"]]
            Image.fromarray(mask).save(target / "masks" / f"{file.stem}.png")
            shutil.copy(file, target / "images")


def write_config(folder):
    lines = ["data:", f"  path: {folder}", f"  classes: [{', '.join(f'c{i}' for i in range(91))}]", "  train:", "    transforms:",
             "      - scale_jitter: {min: 0.5, max: 2.0}", "      - random_crop: {size: 512}", "      - flip: {}", "      - photometric: {probability: 1}",
             "  val_share: 0", "train: {batch_size: 16}"]
    (folder / "loader.yaml").write_text("\n".join(lines) + "\n")
    return folder / "loader.yaml"


def on_cores(count, command):
    """The command on the first cores that we may use, with nobody's libraries starting more threads."""
    cores = sorted(os.sched_getaffinity(0))[:count]
    return ["taskset", "-c", ",".join(map(str, cores)), "env", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", *command]


def take_turns(options, folder, config, cores):
    found = {kind: [] for kind in ("tessera", *options.kinds)}
    for _ in range(options.rounds):
        found["tessera"].append(last_json(on_cores(cores, [program(options.build), "bench", "data", config, f"data.threads={cores}", "--images",
                                                           options.images, "--json"])))
        for kind in options.kinds:
            # One core is best used without a worker process, which costs copies.
            found[kind].append(last_json(on_cores(cores, [sys.executable, ROOT / "peers/loader.py", folder, "--kind", kind, "--workers",
                                                          cores if cores > 1 else 0, "--images", options.images // 5])))
    return found


def median(results, key):
    values = [result[key] for result in results if result.get(key)]
    return statistics.median(values) if values else None


def row_of(cores, found):
    row = {"cores": cores, "stages_ms": {stage: statistics.median(result["ms_per_image"][stage] for result in found["tessera"])
                                         for stage in found["tessera"][0]["ms_per_image"]}}
    for kind, results in found.items():
        row[kind] = {"images_per_s": median(results, "images_per_s"), "images_per_cpu_s": median(results, "images_per_cpu_s"),
                     "all_images_per_s": [result["images_per_s"] for result in results]}
    for kind in found.keys() - {"tessera"}:
        # The median of the rounds' own ratios: what disturbs a round disturbs all of its turns.
        row[kind]["ratio"] = statistics.median(ours["images_per_s"] / theirs["images_per_s"] for ours, theirs in zip(found["tessera"], found[kind]))
        if cores == 1:
            row[kind]["cpu_ratio"] = row["tessera"]["images_per_cpu_s"] / row[kind]["images_per_cpu_s"]
    return row


def show(row):
    print(f"{row['cores']} cores, one image: " + ", ".join(f"{stage} {ms:.2f} ms" for stage, ms in row["stages_ms"].items()))
    for kind in [key for key in row if isinstance(row[key], dict) and "images_per_s" in row[key]]:
        part = row[kind]
        by_cpu = f"{part['images_per_cpu_s']:12.1f}" if part["images_per_cpu_s"] else f"{'-':>12}"
        ratio = f"{part['ratio']:8.1f}x" + (f" {part['cpu_ratio']:8.1f}x by CPU time" if "cpu_ratio" in part else "") if "ratio" in part else ""
        print(f"  {kind:16} {part['images_per_s']:10.1f} images/s {by_cpu} a CPU second {ratio}", flush=True)


def difference_from_pillow(options, folder):
    """The mean difference in levels of what a pipeline of one resize makes of photos, from Pillow's resize of the same files."""
    differences = []
    for size in ((256, 384), (700, 900)):
        with tempfile.TemporaryDirectory() as out:
            last_json([program(options.build), "bench", "data", folder / "loader.yaml",
                       f"data.train.transforms=[{{resize: {{mode: exact, size: [{size[0]}, {size[1]}]}}}}]", "data.threads=1", "--images", 8,
                       "--dump", out, "--json"])
            for file in sorted(pathlib.Path(out).glob("*.png")):
                photo = Image.open(folder / "images" / f"{file.stem}.jpg").convert("RGB").resize(size[::-1], Image.Resampling.BILINEAR)
                differences.append(float(np.abs(np.asarray(photo, np.int16) - np.asarray(Image.open(file), np.int16)).mean()))
    return statistics.mean(differences), len(differences)


def memory_of_a_thread(options, config, more=8):
    """Of what further threads keep, each, in MB; the batches made ahead are the same ones."""
    peak = [last_json([program(options.build), "bench", "data", config, f"data.threads={threads}", "--images", options.images, "--json"])["peak_memory_mb"]
            for threads in (1, 1 + more)]
    return (peak[1] - peak[0]) / more


def main():
    options = parse()
    data = pathlib.Path(os.environ.get("TESSERA_DATA", ROOT.parent.parent / "shared/data"))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_masks(data / "coco_tiny", folder)
        config = write_config(folder)
        result = {"environment": None, "settings": {key: getattr(options, key) for key in ("rounds", "images", "kinds")},
                  "load_average_before": os.getloadavg(), "rows": []}
        for cores in options.cores:
            found = take_turns(options, folder, config, cores)
            result["environment"] = found["tessera"][0]["environment"]
            result["rows"].append(row_of(cores, found))
            show(result["rows"][-1])
        result["load_average_after"] = os.getloadavg()
        result["mean_difference_from_pillow"], count = difference_from_pillow(options, folder)
        result["memory_of_a_thread_mb"] = memory_of_a_thread(options, config)
        print(f"resized images differ from Pillow's by {result['mean_difference_from_pillow']:.4f} levels ({count} images); a further thread takes "
              f"{result['memory_of_a_thread_mb']:.1f} MB")
        if options.out:
            options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
