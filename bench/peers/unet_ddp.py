"""The U-Net step in PyTorch's DistributedDataParallel over Gloo: unet_ddp.py DUMP STEPS WARMUP, started once per rank with torchrun's
variables. Rank 0 prints JSON."""
import json
import os
import statistics
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from step import Step, parse

OPTIONS = ["--model", "unet", "--device", "cpu", "--precision", "fp32", "--loss", "ce", "--optimizer", "adamw", "--lr", "0.004", "--weight-decay", "0.01",
           "--normalize", "per_image"]


def main(dump, steps, warmup):
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    step = Step(parse([dump, *OPTIONS]))
    share = step.images.shape[0] // size
    part = slice(rank * share, (rank + 1) * share)
    step.images, step.labels = step.images[part], step.labels[part]
    step.model = DistributedDataParallel(step.model, gradient_as_bucket_view=True)
    times, losses = [], []
    for i in range(warmup + steps):
        dist.barrier()
        ms, (loss,) = step.run(1)
        total = torch.tensor(loss)
        dist.all_reduce(total)
        losses.append(total.item() / size)
        if i >= warmup:
            times.append(ms)
    if rank == 0:
        print(json.dumps({"ms_median": statistics.median(times), "ms_min": min(times), "losses": losses}))
    dist.barrier()  # else the first to end takes the connections of the others with it
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
