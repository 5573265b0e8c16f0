"""A U-Net on dsb2018_nuclei in plain PyTorch, with the recipe of bench/configs/from_scratch.yaml: train.py PIXELS, or, with --weights,
only the measurement of weights that ours trained. Prints JSON. Needs torch, and what nuclei.py needs.

The network is peers/unet.py's, whose layers initialise themselves: PyTorch's defaults.
"""
import argparse
import json
import time

import torch
from torch.nn import functional as F

import nuclei
import unet
from recipe_options import add_recipe_options
from safetensors_file import read_safetensors
from step import normalize

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Recipe:
    def __init__(self, options):
        self.options, self.device = options, torch.device(options.device)
        self.constants = [torch.tensor(values, device=self.device) for values in (MEAN, STD)]

    def input(self, images):
        return normalize(images, "fixed", *self.constants).contiguous(memory_format=torch.channels_last)

    def batches(self, samples):
        """Endless: every epoch in a new order, random crops, both flips."""
        size, generator = self.options.crop, torch.Generator().manual_seed(self.options.seed)

        def draw(below):
            return int(torch.randint(below, (1,), generator=generator))

        chosen = []
        while True:
            for index in torch.randperm(len(samples), generator=generator).tolist():
                image, label = samples[index]
                top, left = draw(image.shape[0] - size + 1), draw(image.shape[1] - size + 1)
                crop = [x[top:top + size, left:left + size] for x in (image, label)]
                for axis in (0, 1):
                    crop = [x.flip(axis) for x in crop] if draw(2) else crop
                chosen.append(crop)
                if len(chosen) == self.options.batch:
                    yield torch.stack([image for image, _ in chosen]), torch.stack([label for _, label in chosen]).long()
                    chosen = []

    def train(self, samples):
        options = self.options
        torch.manual_seed(options.seed)
        model = unet.UNet(options.channels, options.bottleneck, 3, 2).to(self.device, memory_format=torch.channels_last).train()
        groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": options.weight_decay},
                  {"params": [p for p in model.parameters() if p.dim() <= 1], "weight_decay": 0.0}]
        optimizer = torch.optim.SGD(groups, lr=options.lr, momentum=0.9)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (1 - step / options.steps) ** 0.9)
        for _, (images, labels) in zip(range(options.steps), self.batches(samples)):
            with torch.autocast(self.device.type, torch.bfloat16, enabled=options.precision == "bf16"):
                logits, _ = model(self.input(images))
            loss = F.cross_entropy(logits.float(), labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
        return model, loss.item()

    @torch.no_grad()
    def measure(self, model, samples):
        """IoU of both classes, counted over all pixels of all whole images, in float32."""
        model.eval()
        multiple, counts = 1 << len(self.options.channels), torch.zeros(4, dtype=torch.int64, device=self.device)
        for image, label in samples:
            height, width = label.shape
            x = F.pad(self.input(image[None]), (0, -width % multiple, 0, -height % multiple))
            predicted = model(x)[0][:, :, :height, :width].argmax(1)
            counts += torch.bincount((label.long() * 2 + predicted[0]).flatten(), minlength=4)
        table = counts.view(2, 2).double()
        iou = (table.diagonal() / (table.sum(0) + table.sum(1) - table.diagonal())).tolist()
        return {"mean_iou": sum(iou) / 2, "iou": {"background": iou[0], "nucleus": iou[1]}}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pixels", help="folder of dsb2018_nuclei, or a file of from_scratch.py --prepare")
    parser.add_argument("--weights", help="a safetensors file of ours: measure these, train nothing")
    parser.add_argument("--seed", type=int, default=1)
    add_recipe_options(parser)
    parser.add_argument("--weight-decay", type=float, default=0.0001)
    return parser.parse_args()


def main():
    options = parse()
    torch.backends.cudnn.benchmark = not options.weights  # whole images have many sizes
    recipe = Recipe(options)
    splits = {split: [(image.to(recipe.device), label.to(recipe.device)) for image, label in samples]
              for split, samples in nuclei.read(options.pixels).items()}
    begin, loss = time.perf_counter(), None
    if options.weights:
        weights = read_safetensors(options.weights)
        model = unet.build(weights)
        missing, unexpected = model.load_state_dict(weights, strict=False)
        assert not unexpected and all(name.endswith("num_batches_tracked") for name in missing), (missing, unexpected)
        model.to(recipe.device, memory_format=torch.channels_last)
    else:
        model, loss = recipe.train(splits["training"])
    seconds = time.perf_counter() - begin
    torch.backends.cudnn.benchmark = False
    print(json.dumps({**recipe.measure(model, splits["validation"]), "last_loss": loss, "seconds": seconds, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
