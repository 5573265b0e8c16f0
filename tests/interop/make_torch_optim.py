"""Ten-step trajectories of torch.optim (lamb, lars, lion: timm.optim) in float64, gradient clipping, and learning rate schedules (also
of groups with rates of their own, poly with a final rate: mmengine).

Parameters and gradients are made from integers by both sides. Three parameters lie in a row: a backbone weight (5 values), a
backbone bias (3), a head weight (4).
"""
import json
import pathlib
import sys
import warnings

import timm.optim
import torch
from mmengine.optim.scheduler import PolyLR
from torch.optim import lr_scheduler as schedulers

SIZES = [5, 3, 4]
STEPS = 10


def initial():
    i = torch.arange(sum(SIZES))
    return list((((i * 37 + 11) % 29 - 14).double() / 10).split(SIZES))


def gradient(step):
    """With one gradient of exactly 0 throughout, at index 2."""
    i = torch.arange(sum(SIZES))
    g = ((i * 53 + step * 19 + 7) % 31 - 15).double() / 8
    g[2] = 0
    return g


def lr_of(step, base):
    return base * (1 - step / STEPS) ** 0.9


class DecoupledSgd:
    """Composer's DecoupledSGDW: w *= 1 - lr / initial_lr * decay; w -= lr * buffer."""

    def __init__(self, groups, lr, momentum, nesterov):
        self.param_groups = [{"lr": lr, **g, "initial_lr": g.get("lr", lr)} for g in groups]
        self.momentum, self.nesterov, self.buffers = momentum, nesterov, {}

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                buffer = self.buffers.get(p, torch.zeros_like(p)) * self.momentum + p.grad
                self.buffers[p] = buffer
                update = p.grad + self.momentum * buffer if self.nesterov else buffer
                p.data.mul_(1 - group["lr"] / group["initial_lr"] * group["weight_decay"])
                p.data.add_(update, alpha=-group["lr"])


def scheduled_rates(base_rates, make):
    """The learning rates of groups, step by step, as a scheduler of torch or mmengine sets them."""
    groups = [{"params": [torch.zeros(1, requires_grad=True)], "lr": lr} for lr in base_rates]
    optimizer = torch.optim.SGD(groups)
    scheduler = make(optimizer)
    rows = []
    for _ in range(STEPS):
        rows.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
    return rows


def trajectory(config, make_schedule=None):
    params = [p.clone().requires_grad_() for p in initial()]
    lr, decay = config["lr"], config.get("weight_decay", 0.0)
    bias_decay = decay if config.get("decay_norm_and_bias", False) else 0.0
    multiplier = config.get("head_lr_multiplier", 1.0)
    groups = [{"params": [params[0]], "weight_decay": decay}, {"params": [params[1]], "weight_decay": bias_decay},
              {"params": [params[2]], "weight_decay": decay, "lr": lr * multiplier}]
    kind = config["type"]
    sgd = {"lr": lr, "momentum": config.get("momentum", 0.9), "nesterov": config.get("nesterov", False)}
    adam = {"lr": lr, "betas": tuple(config.get("betas", (0.9, 0.999))), "eps": config.get("eps", 1e-8)}
    optimizer = {"sgd": lambda: torch.optim.SGD(groups, **sgd), "decoupled_sgd": lambda: DecoupledSgd(groups, **sgd),
                 "adam": lambda: torch.optim.Adam(groups, **adam), "adamw": lambda: torch.optim.AdamW(groups, **adam)}.get(kind, lambda: None)()
    if kind == "lamb":  # biases follow their weights' length only when they decay like weights
        groups[1]["always_adapt"] = config.get("decay_norm_and_bias", False)
        optimizer = timm.optim.Lamb(groups, **adam, max_grad_norm=None, always_adapt=True)
    if kind == "lars":
        groups[1]["always_adapt"] = config.get("decay_norm_and_bias", False)
        optimizer = timm.optim.Lars(groups, lr=lr, momentum=config.get("momentum", 0.9), eps=config.get("eps", 1e-8),
                                    trust_coeff=config.get("trust_coefficient", 0.001), always_adapt=True)
    if kind == "lion":
        optimizer = timm.optim.Lion(groups, lr=lr, betas=tuple(config["betas"]))
    factors = [1.0, 1.0, multiplier]
    rates = [[lr_of(step, lr) * factor for factor in factors] for step in range(STEPS)]
    if make_schedule:
        rates = scheduled_rates([lr * factor for factor in factors], make_schedule)
    rows = []
    for step in range(STEPS):
        for p, g in zip(params, gradient(step).split(SIZES)):
            p.grad = g.clone()
        if config.get("clip_norm"):
            torch.nn.utils.clip_grad_norm_(params, config["clip_norm"])
        for group, rate in zip(optimizer.param_groups, rates[step]):
            group["lr"] = rate
        optimizer.step()
        rows.append(torch.cat([p.detach() for p in params]).tolist())
    return rows


def optimizer_configs():
    everywhere = {"weight_decay": 0.05, "decay_norm_and_bias": True}
    grouped = {"weight_decay": 0.05, "head_lr_multiplier": 10.0}
    yield {"type": "sgd", "lr": 0.1, "momentum": 0.0}
    yield {"type": "sgd", "lr": 0.1, "momentum": 0.0, **everywhere}
    yield {"type": "sgd", "lr": 0.1}
    yield {"type": "sgd", "lr": 0.1, "nesterov": True, **everywhere}
    yield {"type": "sgd", "lr": 0.01, **grouped}
    yield {"type": "sgd", "lr": 0.1, "clip_norm": 1.5}
    yield {"type": "decoupled_sgd", "lr": 0.1, **everywhere}
    yield {"type": "decoupled_sgd", "lr": 0.01, "nesterov": True, **grouped}
    yield {"type": "adam", "lr": 0.01}
    yield {"type": "adam", "lr": 0.01, "betas": [0.8, 0.95], "eps": 1e-3, **everywhere}
    yield {"type": "adamw", "lr": 0.01, **everywhere}
    yield {"type": "adamw", "lr": 0.01, **grouped}
    yield {"type": "lamb", "lr": 0.05}
    yield {"type": "lamb", "lr": 0.02, "betas": [0.8, 0.95], "eps": 1e-3, **everywhere}
    yield {"type": "lamb", "lr": 0.01, "clip_norm": 1.5, **grouped}
    yield {"type": "lars", "lr": 0.5}
    yield {"type": "lars", "lr": 0.3, "momentum": 0.5, "trust_coefficient": 0.02, "eps": 1e-3, **everywhere}
    yield {"type": "lars", "lr": 0.1, "momentum": 0.0, "trust_coefficient": 0.1, "clip_norm": 1.5, **grouped}
    yield {"type": "lion", "lr": 0.01, "betas": [0.9, 0.99]}
    yield {"type": "lion", "lr": 0.02, "betas": [0.8, 0.95], **everywhere}
    yield {"type": "lion", "lr": 0.01, "betas": [0.95, 0.98], "clip_norm": 1.5, **grouped}


def scheduled():
    """Optimizers under a schedule that ends at a rate of its own, with a head that learns faster or slower than the rest."""
    s = schedulers
    cosine = {"type": "cosine", "final_lr": 0.002}, lambda o: s.CosineAnnealingLR(o, T_max=STEPS, eta_min=0.002)
    # mmengine's poly is at its end one step before `end`; torch's, and ours, one step behind the last.
    poly = {"type": "poly", "power": 0.9, "final_lr": 0.002}, lambda o: PolyLR(o, eta_min=0.002, power=0.9, end=STEPS + 1)
    warm = ({"type": "cosine", "final_lr": 0.002, "warmup": "3ba", "warmup_start": 0.1},
            lambda o: after_warmup(o, 0.1, 3, lambda p: s.CosineAnnealingLR(p, T_max=STEPS - 3, eta_min=0.002)))
    for kind in ("sgd", "decoupled_sgd", "adam", "adamw", "lamb", "lars", "lion"):
        for settings, make in (cosine, poly, warm):
            for multiplier in (10.0, 0.5):
                config = {"type": kind, "lr": 0.02, "weight_decay": 0.05, "head_lr_multiplier": multiplier}
                if kind == "lion":
                    config["betas"] = [0.9, 0.99]
                if kind == "lars":
                    config["trust_coefficient"] = 0.1
                yield {"config": config, "schedule": settings, "params": trajectory(config, make)}


def schedule(base, total, make, momentum=False):
    parameter = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([parameter], lr=base, momentum=0.9)
    scheduler = make(optimizer)
    rates, momenta = [], []
    for _ in range(total):
        rates.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        if len(rates) < total:
            scheduler.step()
    return {"lr": rates, **({"momentum": momenta} if momentum else {})}


def after_warmup(optimizer, start, warmup, main):
    warm = schedulers.LinearLR(optimizer, start_factor=start, end_factor=1.0, total_iters=warmup)
    return schedulers.SequentialLR(optimizer, [warm, main(optimizer)], milestones=[warmup])


def schedules():
    """(settings, base_lr, total_steps, rates); five steps are an epoch."""
    s = schedulers
    def case(settings, base, total, make, momentum=False):
        return {"config": settings, "base_lr": base, "total": total, **schedule(base, total, make, momentum)}
    yield case({"type": "constant"}, 0.3, 5, lambda o: s.ConstantLR(o, factor=1.0))
    yield case({"type": "poly"}, 0.1, 20, lambda o: s.PolynomialLR(o, total_iters=20, power=0.9))
    yield case({"type": "poly", "power": 2.0}, 0.1, 20, lambda o: s.PolynomialLR(o, total_iters=20, power=2.0))
    yield case({"type": "cosine"}, 0.1, 20, lambda o: s.CosineAnnealingLR(o, T_max=20))
    yield case({"type": "cosine", "final_lr": 0.001}, 0.1, 20, lambda o: s.CosineAnnealingLR(o, T_max=20, eta_min=0.001))
    yield case({"type": "step", "milestones": ["2ep", "15ba"], "gamma": 0.1}, 0.1, 20,
               lambda o: s.MultiStepLR(o, milestones=[10, 15], gamma=0.1))
    yield case({"type": "one_cycle"}, 0.1, 20, lambda o: s.OneCycleLR(o, max_lr=0.1, total_steps=20), True)
    yield case({"type": "one_cycle", "pct_start": 0.25, "div": 10.0, "final_div": 100.0, "min_momentum": 0.8,
                "max_momentum": 0.9}, 0.1, 13,
               lambda o: s.OneCycleLR(o, max_lr=0.1, total_steps=13, pct_start=0.25, div_factor=10.0, final_div_factor=100.0,
                                      base_momentum=0.8, max_momentum=0.9), True)
    yield case({"type": "poly", "warmup": "4ba", "warmup_start": 0.1}, 0.1, 20,
               lambda o: after_warmup(o, 0.1, 4, lambda p: s.PolynomialLR(p, total_iters=16, power=0.9)))
    yield case({"type": "cosine", "warmup": "1ep", "warmup_start": 0.25}, 0.1, 20,
               lambda o: after_warmup(o, 0.25, 5, lambda p: s.CosineAnnealingLR(p, T_max=15)))
    yield case({"type": "constant", "warmup": "0.25dur", "warmup_start": 0.001}, 0.1, 12,
               lambda o: s.LinearLR(o, start_factor=0.001, total_iters=3))


def main(folder):
    warnings.simplefilter("ignore")  # SequentialLR passes an argument that torch itself deprecates
    clip = []
    for max_norm in (0.5, 100.0):
        parameter = torch.zeros(sum(SIZES), dtype=torch.double)
        parameter.grad = gradient(0)
        norm = torch.nn.utils.clip_grad_norm_([parameter], max_norm)
        clip.append({"max_norm": max_norm, "norm": norm.item(), "clipped": parameter.grad.tolist()})
    out = {"optimizers": [{"config": c, "params": trajectory(c)} for c in optimizer_configs()], "clip": clip,
           "schedules": list(schedules()), "scheduled": list(scheduled())}
    (pathlib.Path(folder) / "torch_optim.json").write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
