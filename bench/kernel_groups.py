"""Where the time of a training step goes, by groups of kernels: bench/kernel_groups.py RESULT, a file that gpu_step.py --profile wrote.

Prints a table for each model: PyTorch's time, ours, and the least that the GPU's arithmetic (convolutions, matrix products, attention: --tflops)
or memory (all other groups: --tbps, each tensor of an operation of ours read or written once) allows.
"""
import argparse
import json
import pathlib
import re

# The first pattern that is found in a kernel's name decides. join_heads, unit_rows and doubled are former names, which stored results have.
KERNELS = (
    ("attention", r"sdpa|flash|cudnn::fusion|fmha|attention"),
    ("upsample and loss", r"classifier_|cell_kernel|gather_parts|tile_(sums|gradient)|pixel_(sums|gradient)|plane_|nll_loss|log_softmax|SpatialSoftMax|upsample_bilinear2d.*float"),
    ("depthwise convolution", r"depthwise|conv2d_grouped|c1_k1|tensorTransform"),
    ("convolution, product", r"xmma|nvjet|cutlass|gemm|splitK|conv2d|implicit|triton_tem|AddPadding|init_device_workspace|cublas|nchwToNhwc|nhwcToNchw|patch_rows"),
    ("layer norm, GELU", r"layer_norm|bias_gelu|pack_qkv|join_heads|sum_rows|join_tokens|l2_normalize|unit_rows|gelu|GammaBeta|RowwiseMoments"),
    ("batch norm", r"tessera.*NormRows|moments_kernel|batch_norm|_norm"),
    ("optimizer, gradients", r"optimizer_kernel|square_sums|collect_kernel|multi_tensor|FusedSgd"),
    ("resize, pool, concat", r"resize|pool|2x2_kernel|join_kernel|split_kernel|CatArray|cells_kernel|bins_kernel|upsample|unsafe_index|cat"),
    ("other", r""),
)
OPERATIONS = (
    ("attention", r"scaled_dot_product|attention_gradients"),
    ("upsample and loss", r"upsample_|classifier_|label_counts"),
    ("depthwise convolution", r"depthwise"),
    ("convolution, product", r"aten::|patch_rows"),
    ("layer norm, GELU", r"layer_norm|bias_gelu|pack_qkv|join_heads|sum_rows|join_tokens|l2_normalize|unit_rows"),
    ("batch norm", r"norm_moments|norm_act|norm_pool"),
    ("optimizer, gradients", r"optimizer_step|gradient_norm|collect"),
    ("resize, pool, concat", r"resize|pool|join|split|2x2|doubled"),
    ("other", r""),
)


def group_of(name, table):
    return next(group for group, pattern in table if re.search(pattern, name))


def grouped(profile):
    """Milliseconds and launches of a step, by group."""
    found = {}
    for kernel in profile:
        ms, calls = found.get(group_of(kernel["name"], KERNELS), (0, 0))
        found[group_of(kernel["name"], KERNELS)] = ms + kernel["ms_per_step"], calls + kernel["calls_per_step"]
    return found


def limits(least, flops_per_ms, bytes_per_ms):
    """The least milliseconds of each group."""
    found = {}
    for operation in least:
        group = group_of(operation["name"], OPERATIONS)
        found[group] = found.get(group, 0) + operation["flops"] / flops_per_ms + operation["bytes"] / bytes_per_ms
    return found


def show(row, flops_per_ms, bytes_per_ms):
    kinds = [kind for kind in ("eager", "compile", "tessera") if row.get(kind, {}).get("profile")]
    times = {kind: grouped(row[kind]["profile"]) for kind in kinds}
    least = limits(row["tessera"]["least"], flops_per_ms, bytes_per_ms)
    print(f"\n| {row['model']} | " + " | ".join(kinds) + " | at best |\n|---|" + "---|" * (len(kinds) + 1))
    for group, _ in KERNELS:
        if any(group in times[kind] for kind in kinds):
            cells = [f"{times[kind][group][0]:.2f} ({times[kind][group][1]:.0f})" if group in times[kind] else "-" for kind in kinds]
            print(f"| {group} | " + " | ".join(cells) + f" | {least[group]:.2f} |" if group in least else f"| {group} | " + " | ".join(cells) + " | - |")
    sums = [f"{sum(ms for ms, _ in times[kind].values()):.2f} ({sum(calls for _, calls in times[kind].values()):.0f})" for kind in kinds]
    print("| all kernels | " + " | ".join(sums) + f" | {sum(least.values()):.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("--tflops", type=float, default=790, help="of bf16 matrix products; an H200 was measured at 790")
    parser.add_argument("--tbps", type=float, default=4.3, help="TB/s of memory; an H200 was measured at 4.3")
    options = parser.parse_args()
    print("Milliseconds of a step (launches).")
    for row in json.loads(options.result.read_text())["rows"]:
        show(row, options.tflops * 1e9, options.tbps * 1e9)


if __name__ == "__main__":
    main()
