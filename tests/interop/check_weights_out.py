"""Loads what PthWriter.FilesOpenInTheirLibraries left in a folder with torch, safetensors and NumPy themselves.

Tensor k has ((7 i + 11 k) mod 31 - 15) / 8 as its element i; see make_weight_files.py, whose formula this is.
"""
import pathlib
import sys
from collections import OrderedDict

import numpy as np
import torch
from safetensors.torch import load_file

from make_weight_files import values

EXPECTED = OrderedDict([
    ("conv.weight", values((4, 3, 2, 2), 0)),
    ("half", values((3, 2), 1, torch.float16)),
    ("double", values((5,), 2, torch.float64)),
    ("long", values((2, 2), 3, torch.int64)),
    ("transposed", values((6, 8), 4).t()),
    ("empty", torch.zeros(0, 4)),
    ("scalar", torch.tensor(2.5)),
    ("bool", torch.tensor([True, False, True])),
])
TORCH_ONLY = OrderedDict([("bfloat16", values((4,), 5, torch.bfloat16)), ("float8", values((4,), 6).to(torch.float8_e4m3fn))])


def check(condition, message):
    if not condition:
        raise SystemExit(f"check_weights_out: {message}")


def compare(got, expected, name):
    check(set(got) == set(expected), f"{name}: keys {sorted(got)}")
    for key, want in expected.items():
        have = got[key] if isinstance(got[key], torch.Tensor) else torch.from_numpy(np.asarray(got[key]))
        same = have.dtype == want.dtype and have.shape == want.shape and torch.equal(have.double(), want.double())
        check(same, f"{name}: {key} differs: {have}")


def main(folder):
    folder = pathlib.Path(folder)
    everything = OrderedDict([*EXPECTED.items(), *TORCH_ONLY.items()])
    loaded = torch.load(folder / "out.pth", weights_only=True)
    check(isinstance(loaded, OrderedDict) and list(loaded) == list(everything), f"out.pth: {type(loaded)}, keys {list(loaded)}")
    compare(loaded, everything, "out.pth")
    compare(torch.load(folder / "out.pth", weights_only=True, mmap=True), everything, "out.pth, mapped")
    compare(load_file(folder / "out.safetensors"), everything, "out.safetensors")
    with np.load(folder / "out.npz") as arrays:
        compare(dict(arrays), EXPECTED, "out.npz")
    module = torch.nn.Sequential(OrderedDict([("conv", torch.nn.Conv2d(3, 4, 2, bias=False))]))
    module.load_state_dict({"conv.weight": loaded["conv.weight"]}, strict=True)
    print(f"torch, safetensors and NumPy read our {len(everything)} tensors")


if __name__ == "__main__":
    main(sys.argv[1])
