"""The recipe of bench/configs/from_scratch.yaml as options, the same for from_scratch.py and for the peer's train.py."""


def add_recipe_options(parser):
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--crop", type=int, default=256)
    parser.add_argument("--channels", type=int, nargs="+", default=[32, 64, 128, 256])
    parser.add_argument("--bottleneck", type=int, default=512)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
