"""What a config takes from secret variables, and credentials of URLs, is in no file of a run, of the cache, and in no output: every file is
searched for the values. A run keeps the names of the variables, goes on with them, and says what it needs where they are not set."""
import os
import pathlib

from download import PROXIES, Server
from support import TINY, Folder, check, log_lines, tessera, write_png

PASSWORD, TOKEN, SIGNATURE, VAULT = "pa55w0rd-of-the-server", "t0ken-of-the-query", "s1gnature-written-out", "v4ult-folder"
VALUES = (PASSWORD, TOKEN, SIGNATURE, VAULT)


def values_in(text):
    return [value for value in VALUES if value.encode() in (text.encode(errors="surrogateescape") if isinstance(text, str) else text)]


def check_hidden(folders, *texts):
    for text in texts:
        check(not values_in(text), f"{values_in(text)} in the output:\n{text}")
    files = [path for folder in folders for path in pathlib.Path(folder).rglob("*") if path.is_file()]
    for path in files:
        check(not values_in(path.read_bytes()), f"{values_in(path.read_bytes())} in {path}")
        check(not values_in(str(path.relative_to(folders[0].parent))), f"a file is named after a secret: {path}")
    return files


def weights_behind_a_password(folder):
    options = TINY + ["train.duration=2ba", "checkpoint.every=1ba", "eval.every=100ba"]
    tessera("train", *options, f"run.dir={folder}/first")
    tessera("export", "weights", "-w", folder / "first", "-o", folder / "w.pth")
    content = (folder / "w.pth").read_bytes()
    path = f"/w.pth?token={TOKEN}&sig={SIGNATURE}"
    with Server() as server:
        url = server.url(path, lambda handler: handler.send_content(content))
        address = url.split("/w.pth")[0].replace("://", "://me:${TEST_SERVER_PASSWORD}@")
        run = [*options, f"model.pretrained={address}/w.pth?token=${{TEST_QUERY}}&sig={SIGNATURE}", f"run.dir={folder}/run"]
        environment = {**PROXIES, "TESSERA_CACHE": str(folder / "cache"), "TEST_SERVER_PASSWORD": PASSWORD, "TEST_QUERY": TOKEN}
        for ranks in ([], ["-p", "ddp", "--ranks", "2"]):
            here = [*run[:-1], f"run.dir={folder}/run{len(ranks)}"]
            out, errors = tessera("train", *here, *ranks, env=environment)
            files = check_hidden([folder / f"run{len(ranks)}", folder / "cache"], out, errors)
            check({"config.yaml", "report.html", "log.jsonl", "w.pth.seen.json"} <= {file.name for file in files}, files)
            check(any("tfevents" in file.name for file in files), files)
            check(bool(ranks) == any(file.name == "rank-00.log" for file in files), files)
        check(len(server.seen[path]) == 1 and "Authorization" in server.seen[path][0], server.seen[path])
        saved = (folder / "run0/config.yaml").read_text()
        check("://me:${TEST_SERVER_PASSWORD}@127.0.0.1" in saved and "/w.pth?token=${TEST_QUERY}&sig=***" in saved, saved)
        check_hidden([folder / "run0"], *tessera("train", *run, "--dry-run", env=environment), *tessera("config", "show", *run, env=environment))

        # Evaluating and predicting need none of it, and a token that was renewed is no other run.
        tessera("eval", "-w", folder / "run0")
        tessera("train", *run[:-1], f"run.dir={folder}/run0", "--resume", env={**environment, "TEST_QUERY": "renewed-token"})
        _, errors = tessera("train", *run[:-1], f"run.dir={folder}/run0", "--resume", env=PROXIES, expect=2)
        check("the environment variable TEST_SERVER_PASSWORD is not set; export TEST_SERVER_PASSWORD=..., set model.pretrained=..." in errors, errors)
        # What was written out is gone, and who starts anew from the saved config is told so.
        _, errors = tessera("train", folder / "run0/config.yaml", f"run.dir={folder}/again", env=environment, expect=2)
        check("the credentials of this URL were left out when it was saved" in errors, errors)
        server.shutdown()


def data_in_a_secret_place(folder):
    data = folder / VAULT / "data"
    for i in range(8):
        write_png(data / f"images/{i}.png", 24, 20, lambda y, x: (200, 60 + x, 30 + y + i), channels=3)
        write_png(data / f"masks/{i}.png", 24, 20, lambda y, x: x % 2)
    broken = data / "masks/5.png"
    broken.write_bytes(broken.read_bytes()[:60])
    options = ["data.classes=[a,b]", "data.val_share=0.25", "data.max_bad_share=0.5", "model.unet.channels=[4]", "train.batch_size=2", "train.duration=6ba",
               "run.pictures=1", "train.device=cpu", f"run.dir={folder}/place"]
    place = [f"data.path={folder}/${{TEST_VAULT_KEY}}/data"]
    environment = {"TEST_VAULT_KEY": VAULT}
    out, errors = tessera("train", *options, *place, env=environment)
    check("${TEST_VAULT_KEY}" in errors and "bad sample" in errors, errors)
    check_hidden([folder / "place"], out, errors)
    bad = [line for line in log_lines(folder / "place") if line["type"] == "bad_sample"]
    check(bad and "/${TEST_VAULT_KEY}/data/masks/5.png" in bad[0]["reason"], bad)
    out, errors = tessera("eval", "-w", folder / "place", env=environment)
    check_hidden([folder / "place"], out, errors)

    settings = ["data.classes=[a,b]", "data.val_share=0.25", "data.max_bad_share=0.5"]
    for words in (["data", "check"], ["data", "check", "--json"], ["data", "stats"], ["data", "browse", "-o", folder / "page/browse.html"]):
        out, errors = tessera(*words, *settings, *place, env=environment, expect=1 if "check" in words else 0)
        check_hidden([], out, errors)
    check_hidden([folder / "page"], "", "")
    out, errors = tessera("predict", "-w", folder / "place", data / "images", "-o", folder / "predicted", env=environment)
    check_hidden([folder / "place"], out.replace(str(data), ""), errors.replace(str(data), ""))  # the folder itself was typed here

    _, errors = tessera("eval", "-w", folder / "place", expect=2)
    check("/${TEST_VAULT_KEY}/data' and the environment variable TEST_VAULT_KEY is not set" in errors and "or set data.path=..." in errors, errors)
    tessera("eval", "-w", folder / "place", f"data.path={data}")
    _, errors = tessera("data", "check", *place, "data.classes=[a,b]", env={"TEST_VAULT_KEY": "elsewhere-9"}, expect=1)
    check("elsewhere-9" not in errors and "${TEST_VAULT_KEY}" in errors, errors)


def other_variables_are_part_of_the_run(folder):
    """A run is whole without its environment, and a variable that has changed is a change of the run."""
    run = [*TINY, "train.duration=2ba", "optimizer.lr=${TEST_RATE}", f"run.dir={folder}/plain"]
    tessera("train", *run, env={"TEST_RATE": "0.125"})
    check("lr: 0.125" in (folder / "plain/config.yaml").read_text(), "the value is not in config.yaml")
    check("TEST_RATE" not in os.environ, "this test needs the variable not to be set")
    tessera("eval", "-w", folder / "plain")
    _, errors = tessera("train", *run, "--resume", env={"TEST_RATE": "0.25"}, expect=2)
    check("optimizer.lr: 0.125 in the run, 0.25 now" in errors, errors)


if __name__ == "__main__":
    for part in (weights_behind_a_password, data_in_a_secret_place, other_variables_are_part_of_the_run):
        with Folder() as temporary:
            part(temporary)
        print(f"{part.__name__}: ok", flush=True)
