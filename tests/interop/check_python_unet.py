"""A U-Net of ours in plain PyTorch: check_python_unet.py TESSERA [NAMES]. For each form of the model a short run is trained in float64 and exported with
`export weights --with-python`; the module that lies beside the weights loads them strictly and must give the probabilities of `tessera predict`
to 1e-6, of images whose sides are no multiple of anything. (The probabilities are written as float32.) NAMES: only these forms."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from PIL import Image

FORMS = {
    "plain": [],
    "grey": ["data.channels=1", "data.normalize={mean: [0.4], std: [0.2]}"],
    "bilinear": ["model.unet.up=bilinear", "model.unet.dropout=0.3"],
    "dilated": ["model.unet.up=dilated", "model.unet.skips=inner", "model.unet.convs=[1,3,2]"],
    "without batch norm": ["model.unet.batch_norm=false", "model.unet.bottleneck=24", "model.unet.convs=3"],
    "dilated without batch norm": ["model.unet.up=dilated", "model.unet.batch_norm=false"],
    "one logit": ["loss.terms=[bce]", "data.synthetic.kind=cells"],
    "valid": ["model.unet.padding=valid", "data.synthetic.size=64"],
    "valid and dilated": ["model.unet.padding=valid", "model.unet.up=dilated", "data.synthetic.size=80"],
    "three heights": ["model.unet.channels=[4,6,10]", "model.unet.bottleneck=12"],
    "each image by itself": ["data.normalize.mode=per_image"],
    "classes that overlap": ["data.type=pairs", "data.path={pairs}", "data.labels.multi=true", "data.classes=[cell,nucleus]"],
    "16 bits": ["data.type=pairs", "data.path={deep}", "data.labels.binary=true", "data.channels=1"],
}
COMMON = ["data.type=synthetic", "data.synthetic.kind=shapes", "data.synthetic.num_classes=3", "data.synthetic.size=40", "data.train.count=8", "data.val.count=1",
          "model.unet.channels=[4,8]", "train.duration=3ba", "train.batch_size=4", "train.norm_group=4", "train.precision=fp64", "optimizer.lr=0.05", "run.pictures=0",
          "run.tensorboard=false", "eval.every=0ep", "train.device=cpu"]
ALLOWED = 1e-6


def write_pairs(folder):
    """Folders of eight images each: `pairs` in colour with two classes that overlap, `deep` grey of 12 bits in files of 16."""
    draw = np.random.default_rng(5)
    for name in ("pairs/images", "pairs/masks/cell", "pairs/masks/nucleus", "deep/images", "deep/masks"):
        (folder / name).mkdir(parents=True)
    for i in range(8):
        Image.fromarray(draw.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(folder / f"pairs/images/{i}.png")
        Image.fromarray(draw.integers(0, 4096, (40, 40), dtype=np.uint16)).save(folder / f"deep/images/{i}.png")
        for name in ("pairs/masks/cell", "pairs/masks/nucleus", "deep/masks"):
            Image.fromarray(draw.integers(0, 2, (40, 40), dtype=np.uint8) * 255).save(folder / name / f"{i}.png")


def run(*arguments):
    done = subprocess.run([*map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"check_python_unet: {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")


def module_of(path):
    spec = importlib.util.spec_from_file_location("exported_unet", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def surround(model, channels, size):
    """How much predict adds on each side, so that a model with valid padding covers the image."""
    for added in range(100):
        try:
            if model(torch.zeros(1, channels, size + 2 * added, size + 2 * added, dtype=torch.float64)).shape[2] >= size:
                return added
        except RuntimeError:  # too small for this model
            continue
    raise SystemExit("check_python_unet: no size is large enough")


def logits_of(module, x):
    model, (height, width) = module.load(), x.shape[2:]
    if module.PADDING == "same":
        return model(x)
    y, left = surround(model, x.shape[1], height), surround(model, x.shape[1], width)
    logits = model(torch.nn.functional.pad(x, (left, left, y, y), mode="replicate"))
    top, begin = (logits.shape[2] - height + 1) // 2, (logits.shape[3] - width + 1) // 2
    return logits[:, :, top:top + height, begin:begin + width]


def difference(tessera, folder, settings):
    grey = any(text == "data.channels=1" for text in settings)
    deep = any("{deep}" in text for text in settings)
    pixels = np.random.default_rng(3).integers(0, 4096 if deep else 256, (37, 53) if grey else (37, 53, 3), dtype=np.uint16 if deep else np.uint8)
    write_pairs(folder)
    settings = [text.format(pairs=folder / "pairs", deep=folder / "deep") if text.startswith("data.path=") else text for text in settings]
    common = COMMON if settings[:1] != ["data.type=pairs"] else [text for text in COMMON if not text.startswith("data.")]
    Image.fromarray(pixels).save(folder / "image.png")
    run(tessera, "train", *common, *settings, f"run.dir={folder}/run")
    run(tessera, "export", "weights", folder / "run", "-o", folder / "m.pth", "--with-python")
    run(tessera, "predict", "-w", folder / "run", "--probabilities", "-o", folder / "out", folder / "image.png")
    ours = np.load(folder / "out/image_probabilities.npy")
    module = module_of(folder / "m.py")
    with torch.no_grad():
        theirs = module.probabilities(logits_of(module, module.prepare(pixels)))[0].numpy()
    if ours.shape != theirs.shape or len(module.CLASSES) != len(ours):
        raise SystemExit(f"check_python_unet: {settings}: {theirs.shape} in PyTorch, {ours.shape} here")
    return np.abs(ours - theirs).max()


def main(tessera, *names):
    torch.set_num_threads(2)
    for name, settings in FORMS.items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = difference(tessera, pathlib.Path(folder), settings)
        if not found <= ALLOWED:
            raise SystemExit(f"check_python_unet: {name}: probabilities differ by {found:.2e}, allowed {ALLOWED:.0e}")
        print(f"U-Net in PyTorch, {name}: probabilities differ by {found:.1e}")


if __name__ == "__main__":
    main(*sys.argv[1:])
