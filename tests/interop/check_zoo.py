"""Our table of public weights against torchvision's and timm's own: check_zoo.py TESSERA. URLs must be theirs, checksums those their
file names carry, and no weights of torchvision for a model that we have may be missing."""
import json
import subprocess
import sys

import timm
import torch
import torchvision
import torchvision.models as tv

MODELS = ["resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d", "resnext101_32x8d", "wide_resnet50_2", "wide_resnet101_2",
          "fcn_resnet50", "fcn_resnet101", "deeplabv3_resnet50", "deeplabv3_resnet101"]


def check(condition, message):
    if not condition:
        raise SystemExit(f"check_zoo: {message}")


def main(program):
    table = json.loads(subprocess.run([program, "models", "pretrained", "--json"], check=True, capture_output=True, text=True).stdout)
    for entry in table:
        library, model, *weights = entry["origin"].split()
        theirs = tv.get_model_weights(model)[weights[0]].url if library == "torchvision" else timm.get_pretrained_cfg(model).url
        check(entry["url"] == theirs, f"{entry['name']}: {entry['url']}, {library} has {theirs}")
        found = torch.hub.HASH_REGEX.search(theirs.rsplit("/", 1)[1])
        digits = found[1] if found and len(found[1]) >= 8 else ""
        known = entry["sha256"].startswith(digits) if digits else not entry["sha256"]  # of some we know all 64
        check(known, f"{entry['name']}: checksum '{entry['sha256']}', the file name says '{digits}'")
    ours = {entry["url"] for entry in table}
    for model in MODELS:
        for weights in tv.get_model_weights(model):
            check(weights.url in ours, f"{weights} is not in our table")
    print(f"{len(table)} names agree with torchvision {torchvision.__version__} and timm {timm.__version__}")


if __name__ == "__main__":
    main(sys.argv[1])
