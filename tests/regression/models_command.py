"""tessera models: the registry as a table, one model layer by layer, as text and as JSON; and the table of docs/models.md."""
import json
import pathlib
import re

from support import check, tessera

ROOT = pathlib.Path(__file__).resolve().parents[2]


def listing():
    names = re.findall(r"^TESSERA_MODEL\((\w+)\)", (ROOT / "src/nn/models.def").read_text(), re.M)
    rows = json.loads(tessera("models", "--size", 64, "--json")[0])
    check(sorted(rows) == sorted(names), f"{sorted(rows)} listed, {sorted(names)} registered")
    check(rows["deeplabv3plus"]["parameters"] == 41273158, rows["deeplabv3plus"])
    for name, row in rows.items():
        check(row["parameters"] > 0 and row["macs"] > 0 and row["activations"] > 0 and row["output_shape"][:2] == [1, 150], f"{name}: {row}")


def one_model():
    options = ["--size", 64, "--classes", 7, "model.backbone.name=resnet18", "data.channels=1", "data.normalize={mean: [0.5], std: [0.3]}"]
    layers = json.loads(tessera("models", "show", "deeplabv3plus", *options, "--json")[0])
    paths = {layer["path"]: layer for layer in layers}
    total = paths[""]
    check(paths["backbone.conv1"]["parameters"] == 64 * 49 and paths["backbone.conv1"]["macs"] == 64 * 49 * 32 * 32, paths["backbone.conv1"])
    check(paths["decode_head.conv_seg"]["output_shape"] == [1, 7, 16, 16], paths["decode_head.conv_seg"])
    check(total["parameters"] == paths["backbone"]["parameters"] + paths["decode_head"]["parameters"], total)
    leaves = [layer for layer in layers if not any(other.startswith(layer["path"] + ".") for other in paths) and layer["path"]]
    check(sum(layer["macs"] for layer in leaves) == total["macs"], "the layers' MACs do not add up")

    text, _ = tessera("models", "show", "deeplabv3plus", *options, "--depth", 2)
    first = text.splitlines()[1].split()
    check(first[0] == "deeplabv3plus" and str(total["parameters"]) in first and f"{total['macs'] / 1e9:.3f}" == first[-1], text.splitlines()[1])
    check("    conv1 (Conv2d)" in text and "1 x 64 x 32 x 32" in text and "conv_seg" in text and "bn2" not in text, text)

    def logits(*arguments):
        return json.loads(tessera("models", "show", *arguments, "--size", 64, "--json")[0])[0]["output_shape"][1]
    check(logits(ROOT / "configs/demo.yaml") == 2, "the demo's own data has two classes")
    check(logits(ROOT / "configs/demo.yaml", "data.synthetic={kind: shapes, num_classes: 7}") == 7, "the config's shapes have 7 classes")
    check(logits(ROOT / "configs/demo.yaml", "loss.type=bce") == 1, "bce learns two classes from one logit")
    check(logits(ROOT / "configs/demo.yaml", "--classes", 9) == 9, "--classes goes before the config's")
    check(logits("unet") == 150, "a model without data is shown for 150 classes")

    _, errors = tessera("models", "show", "pspnett", expect=2)
    check("did you mean 'pspnet'?" in errors, errors)
    _, errors = tessera("models", "show", "pspnet", "model.pspnet.bin=[1]", expect=2)
    check("did you mean 'bins'?" in errors, errors)
    _, errors = tessera("models", "show", "unet", "model.options={width: 3}", expect=2)
    check("its settings are in model.unet" in errors, errors)
    _, errors = tessera("models", "show", "unet", "model.freeze=[down7]", expect=2)
    check("no part 'down7'" in errors and "did you mean 'down" in errors, errors)


def page():
    """Every shipped model has its row; rows of models that are quick to count are counted again."""
    rows = {}
    for line in (ROOT / "docs/models.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        found = re.match(r"\[(\w+)\]\(\.\./configs/base/models/\1\.yaml\)", cells[0])
        if found:
            rows[found[1]] = cells
    shipped = {path.stem for path in (ROOT / "configs/base/models").glob("*.yaml")}
    check(set(rows) == shipped, f"docs/models.md and configs/base/models differ: {set(rows) ^ shipped}; run `make docs`")
    for name in ("unet_microscopy", "unet_coco", "segmenter_ti16"):
        total = json.loads(tessera("models", "show", ROOT / f"configs/base/models/{name}.yaml", "--json", "--size", rows[name][2])[0])[0]
        expected = [f"{total['parameters']:,}", f"{total['macs'] / 1e9:.1f}", f"{total['activations'] / 1e6:.1f}"]
        check(rows[name][3:6] == expected, f"{name}: docs/models.md says {rows[name][3:6]}, the program {expected}; run `make docs`")


if __name__ == "__main__":
    for part in (one_model, page, listing):
        part()
        print(f"{part.__name__}: ok")
