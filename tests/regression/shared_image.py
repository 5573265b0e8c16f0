"""Several ranks on one image: threads, processes and a launcher's ranks write the same bytes as one rank, with windows plain, in views, with
probabilities and overlays, with more ranks than rows of windows, and when some images are dealt whole. Evaluation counts the same pixels."""
import json

from support import TINY, Folder, check, tessera, write_png

WINDOWS = ["--set", "eval.window.size=32", "--set", "eval.window.stride=20", "--set", "eval.window.batch=3"]


def make_image(path, width, height, seed):
    def colour(y, x):
        disc = (x - 40) ** 2 + (y - 30 - seed) ** 2 < 500
        return [(x * y * 7 + seed) % 256 if disc else (x * 3) % 256, (y * 2 + 31 * seed) % 256, ((x ^ y) * 5) % 256]

    write_png(path, width, height, colour, channels=3)


def results(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def main():
    with Folder() as folder:
        run, images = folder / "run", folder / "images"
        tessera("train", *TINY, "train.duration=6ba", "run.tensorboard=false", "data.threads=1", f"run.dir={run}")
        for i in range(3):
            make_image(images / f"{i}.png", 83, 150, i)
        one = images / "0.png"
        count = 0

        def predict(*arguments, before=()):
            nonlocal count
            count += 1
            _, errors = tessera(*before, "predict", "-w", run, "-o", folder / f"out{count}", *arguments, *WINDOWS)
            return results(folder / f"out{count}"), errors.count("windows are shared by")

        for name, options, ranks in (
            ("plain", [], (["-p", "ddp", "--ranks", "2"], ["-p", "dp", "--ranks", "3"], ["-p", "dp", "--ranks", "11"])),
            ("probabilities", ["--probabilities", "--overlay"], (["-p", "dp", "--ranks", "2"],)),
            ("views", ["--set", "eval.flip=true", "--set", "eval.scales=[0.5,1,1.25]"], (["-p", "dp", "--ranks", "3"],)),
        ):
            alone, shared = predict(one, *options)
            check(shared == 0 and len(alone) == (3 if name == "probabilities" else 1), f"{name}: {sorted(alone)}")
            for flags in ranks:
                found, shared = predict(one, *flags, *options)
                check(shared == 1, f"{name} {flags}: the image was not shared")
                check(found == alone, f"{name} {flags}: {sorted(found)} differ from one rank's")
            print(f"{name}: the same bytes")

        # Three images on two ranks: one each, then one for both. A small image stays on one rank.
        alone, _ = predict(images)
        for launched in (["-p", "dp", "--ranks", "2"], []):
            before = [] if launched else ["launch", "--ranks-per-node", "2", "--log-dir", folder / "logs", "--"]
            found, shared = predict(images, *launched, before=before)
            check(shared == 1 and found == alone and len(found) == 3, f"three images, {launched or 'launch'}: {shared} shared, {sorted(found)}")
        make_image(folder / "small.png", 83, 30, 1)
        found, shared = predict(folder / "small.png", "-p", "dp", "--ranks", "2")
        check(shared == 0 and found == predict(folder / "small.png")[0], "a small image")
        print("images: whole where there are enough, shared where not")

        windows = [word for word in WINDOWS if word != "--set"] + ["eval.window.size=16", "eval.window.stride=0", "eval.batch_size=3"]
        whole = json.loads(tessera("eval", "-w", run, "--json", *windows)[0])
        for flags in (["-p", "ddp", "--ranks", "3"], ["-p", "dp", "--ranks", "2", "eval.batch_size=4"]):
            found = json.loads(tessera("eval", "-w", run, "--json", *windows, *flags)[0])
            check({**found, "seconds": 0} == {**whole, "seconds": 0}, f"eval {flags}:\n{found}\n{whole}")
        print("eval: the same numbers")


if __name__ == "__main__":
    main()
