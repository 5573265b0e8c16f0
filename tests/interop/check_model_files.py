"""Models through weight files: check_model_files.py RUN_MODEL [PAGE]. For every model of model_cases.py, the library's module gets random
weights, which are written as .pth and as safetensors. Ours loads them and computes (run_model.cpp); it also exports them in the
library's layout. A fresh module of the library loads that export with strict=True and must then hold the same weights and give the
same outputs, gradients of all parameters, and batch norm statistics after three training passes.

The .pth goes with float64 and 1e-10, the safetensors with float32 and 1e-4, relative to the largest value of an output. Gradients
are held to the largest value of the same tensor, or a hundredth of the largest of all where a tensor has almost none. In float32
they pass through ReLUs that switch on rounding and batch norms over few values: the library's own gradients are then further than
1e-4 from their float64 values, and ours may be four times as far from the library's as that.

With PAGE, docs/models.md, its table of the largest differences in float64 is written anew, between its two marker lines."""
import copy
import importlib.metadata
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file

from model_cases import all_cases

BEGIN, END = "<!-- made by tests/interop/check_model_files.py: begin -->\n", "<!-- end of the table of differences -->\n"
WAYS = [("pth", "float64", 1e-10), ("safetensors", "float32", 1e-4)]


def check(condition, message):
    if not condition:
        raise SystemExit(f"check_model_files: {message}")


def randomise(module, seed):
    """Away from zeros and ones, so that every weight and statistic matters."""
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for value in module.parameters():
            value += (0.1 if value.dim() == 1 else 0.02) * torch.randn(value.shape, generator=noise)
        for name, value in module.named_buffers():
            if name.endswith("running_mean"):
                value += 0.1 * torch.randn(value.shape, generator=noise)
            elif name.endswith("running_var"):
                value *= 0.5 + torch.rand(value.shape, generator=noise)
    for layer in module.modules():
        if isinstance(layer, (torch.nn.Dropout, torch.nn.Dropout2d)):
            layer.p = 0.0


def make_inputs(case):
    noise = torch.Generator().manual_seed(5)
    inputs = {f"eval.{i}": torch.randn(2, 3, *size, generator=noise) for i, size in enumerate(case.sizes)}
    inputs.update({f"train.{i}": torch.randn(2, 3, *case.sizes[0], generator=noise) for i in range(3)})
    probe = copy.deepcopy(case.module).train()
    with torch.no_grad():
        for i, x in enumerate(case.run(probe, inputs["train.0"])):
            inputs[f"weight.{i}"] = torch.randn(x.shape, generator=noise)
    return inputs


def prepare(case, number, folder):
    """Writes files and inputs; returns our jobs."""
    randomise(case.module, number)
    state = {key: value.clone() for key, value in case.state().items()}
    inputs = make_inputs(case)
    save_file(inputs, folder / "inputs.safetensors")
    jobs = []
    for suffix, dtype, _ in WAYS:
        weights = folder / f"weights.{suffix}"
        torch.save(case.wrap(state), weights) if suffix == "pth" else save_file(state, weights)
        exports = [{"layout": layout, "file": str(folder / f"{layout}.{suffix}")} for layout, _, _ in case.parts]
        jobs.append({"name": f"{case.name}, .{suffix}, {dtype}", "settings": case.settings, "classes": case.classes, "weights": str(weights),
                     "dtype": dtype, "inputs": str(folder / "inputs.safetensors"), "output": str(folder / f"{dtype}.safetensors"), "exports": exports})
    return jobs


def read_back(case, folder, suffix):
    """A copy of the module, emptied, then filled with our exports alone."""
    module = copy.deepcopy(case.module)
    with torch.no_grad():
        for value in [*module.parameters(), *module.buffers()]:
            value.zero_()
    for layout, attribute, prefix in case.parts:
        file = folder / f"{layout}.{suffix}"
        exported = torch.load(file, weights_only=True) if suffix == "pth" else load_file(file)
        part = module.get_submodule(attribute)
        part.load_state_dict({k[len(prefix):]: v for k, v in exported.items() if k.startswith(prefix)}, strict=True)
    return module


def same_weights(case, module, what):
    """What the file held has made the way there and back unchanged; a head that was not in it is ours."""
    ours = module.state_dict()
    whole = len(case.parts) == 1
    for key, value in case.module.state_dict().items():
        from_file = whole or key.startswith("backbone.")
        unused = key.startswith("encoder.head.")
        if from_file and not unused and not key.endswith("num_batches_tracked"):
            check(torch.equal(value, ours[key]), f"{what}: {key} came back changed")


def compute(case, module, inputs):
    outputs = {}
    module.eval()
    with torch.no_grad():
        for name in ("eval.0", "eval.1"):
            outputs[name] = case.run(module, inputs[name])[0]
    module.train()
    for n in range(3):
        results = case.run(module, inputs[f"train.{n}"])
        if n == 0:
            outputs.update({f"train.0.{i}": x.detach() for i, x in enumerate(results)})
            sum((x * inputs[f"weight.{i}"]).sum() for i, x in enumerate(results)).backward()
    return outputs


def difference(ours, theirs, scale):
    return (ours - theirs).abs().max().item() / scale if theirs.numel() else 0.0


def gradients_of(module):
    return {name: value.grad for name, value in module.named_parameters() if value.grad is not None}


def gradient_scales(gradients):
    largest = max(value.abs().max().item() for value in gradients.values())
    return {name: max(value.abs().max().item(), 1e-2 * largest) for name, value in gradients.items()}


def own_rounding(gradients, exact):
    """How far the library's gradients are from those it has in float64."""
    scales = gradient_scales(exact)
    return max(difference(gradients[name].double(), value, scales[name]) for name, value in exact.items())


def compare(case, module, results, outputs, tolerance, gradient_tolerance, what):
    worst = {"outputs": 0.0, "gradients": 0.0, "statistics": 0.0}

    def hold(kind, name, ours, theirs, scale, allowed=tolerance):
        check(ours.shape == theirs.shape, f"{what}: {name} is {tuple(ours.shape)}, expected {tuple(theirs.shape)}")
        found = difference(ours, theirs, scale)
        worst[kind] = max(worst[kind], found)
        check(found <= allowed, f"{what}: {kind}: {name} differs by {found:.2e}, allowed {allowed:.1e}")

    for name, value in outputs.items():
        hold("outputs", name, results[name], value, max(1.0, value.abs().max().item()))
    scales = gradient_scales(gradients_of(module))
    for layout, attribute, prefix in case.parts:
        part = module.get_submodule(attribute)
        for name, value in part.named_parameters():
            scale = scales.get(f"{attribute}.{name}" if attribute else name)
            if scale is not None:  # a head that is never used has no gradient
                hold("gradients", name, results[f"{layout}:{prefix}{name}"], value.grad, scale, gradient_tolerance)
        for name, value in part.named_buffers():
            if not name.endswith("num_batches_tracked"):
                hold("statistics", name, results[f"{layout}:{prefix}{name}"], value, max(1.0, value.abs().max().item()))
    return worst


def version_of(name):
    packages = {"torchvision": "torchvision", "timm": "timm", "smp": "segmentation-models-pytorch", "mmsegmentation": "mmsegmentation"}
    library = name.split()[0]
    return f"{packages[library]} {importlib.metadata.version(packages[library])}" if library in packages else f"{library}, written anew"


def write_table(page, rows):
    lines = ["| library | model | outputs | gradients | batch norm statistics |", "|---|---|---|---|---|"]
    for name, worst in rows:
        kinds = [f"{worst[kind]:.0e}" if worst[kind] else "-" if kind == "statistics" else "0" for kind in ("outputs", "gradients", "statistics")]
        lines.append(f"| {version_of(name)} | {name.split(maxsplit=1)[1]} | {' | '.join(kinds)} |")
    before, rest = page.read_text().split(BEGIN)
    page.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + rest.split(END)[1])


def main(program, page=None):
    torch.set_num_threads(2)
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as root:
        root, jobs, cases = pathlib.Path(root), [], list(all_cases())
        for number, case in enumerate(cases):
            case.folder = root / str(number)
            case.folder.mkdir()
            jobs += prepare(case, number, case.folder)
        (root / "jobs.json").write_text(json.dumps(jobs))
        ran = subprocess.run([program, root / "jobs.json"], stdout=subprocess.PIPE, text=True)
        check(ran.returncode == 0, f"run_model failed after:\n{ran.stdout}")
        exact_rows = []
        print(f"{'':42} {'':24} {'outputs':>9} {'gradients':>10} {'(their own)':>14} {'statistics':>11}")
        for case in cases:
            inputs = load_file(case.folder / "inputs.safetensors")
            exact = None
            for suffix, dtype, tolerance in WAYS:
                what = f"{case.name}, .{suffix}, {dtype}"
                module = read_back(case, case.folder, suffix)
                same_weights(case, module, what)
                kind = getattr(torch, dtype)
                module.to(kind)
                outputs = compute(case, module, {k: v.to(kind) for k, v in inputs.items()})
                gradients = gradients_of(module)
                exact = exact or gradients
                rounding = own_rounding(gradients, exact)
                worst = compare(case, module, load_file(case.folder / f"{dtype}.safetensors"), outputs, tolerance, max(tolerance, 4 * rounding), what)
                if dtype == "float64":
                    exact_rows.append((case.name, worst))
                print(f"{case.name:42} {'.' + suffix + ', ' + dtype:24} {worst['outputs']:9.1e} {worst['gradients']:10.1e} {rounding:14.1e} {worst['statistics']:11.1e}", flush=True)
    print(f"{len(cases)} models agree with their libraries, there and back")
    if page:
        write_table(pathlib.Path(page), exact_rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
