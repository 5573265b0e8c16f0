"""Follows docs/add_a_model.md: the page's file and registry line are compiled beside the built libraries, and its commands run.

Nothing is written to the source tree or the build folder: the new registry comes from a folder that is searched before src/.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess

from support import Folder, check, program

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(program()).resolve().parents[1]


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL, **options)
    check(done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout


def blocks(page):
    found = {}
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S):
        check(language not in found, f"the page has two {language} blocks; the test expects one")
        found[language] = text
    return found


def compile_command(commands, like, source, target, include):
    """The command that compiles `like`, made to compile `source`."""
    words = shlex.split(next(c["command"] for c in commands if c["file"].endswith(like)))
    words[words.index("-o") + 1] = str(target)
    words[words.index("-c") + 1] = str(source)
    compiler = next(i for i, word in enumerate(words) if re.search(r"(c\+\+|g\+\+|clang\+\+)(-\d+)?$", word))
    words.insert(compiler + 1, f"-I{include}")
    return words


def main(folder):
    page = (ROOT / "docs/add_a_model.md").read_text()
    code = blocks(page)
    path = re.search(r"`src/(nn/models/(\w+)\.cpp)`:", page)
    line = code["registry"].strip()
    check(line == f"TESSERA_MODEL({path[2]})", f"the page's line is '{line}', its file {path[1]}")

    overlay = folder / "overlay"
    (overlay / "nn/models").mkdir(parents=True)
    (overlay / path[1]).write_text(code["cpp"])
    table = (ROOT / "src/nn/models.def").read_text()
    check(line not in table, f"{line} is in models.def already")
    (overlay / "nn/models.def").write_text(table + line + "\n")

    # The build takes its sources from that table, so the line is all it needs.
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    compiled = "\n".join(pathlib.Path(c["file"]).read_text() if "/groups/" in c["file"] else c["file"] for c in commands)
    for name in re.findall(r"^TESSERA_MODEL\((\w+)\)", table, re.M):
        check(f"nn/models/{name}.cpp" in compiled, f"models/{name}.cpp is registered but not compiled")
        check(f"models/{name}.cpp" not in (ROOT / "src/nn/CMakeLists.txt").read_text(), f"CMakeLists.txt lists models/{name}.cpp by hand")

    jobs = []
    for source in [ROOT / "src/nn/registry.cpp", overlay / path[1]]:
        target = folder / (source.stem + ".o")
        jobs.append((target, subprocess.Popen(compile_command(commands, "nn/registry.cpp", source, target, overlay), cwd=BUILD, text=True,
                                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)))
    for target, job in jobs:
        output, _ = job.communicate(timeout=600)
        check(job.returncode == 0, f"{target.name}:\n{output}")

    built = run(["ninja", "-C", BUILD, "-t", "commands", "bin/tessera"]).splitlines()[-1]
    check(" -o bin/tessera " in built, f"not a link command: {built}")
    link = built.replace(" -o bin/tessera ", f" -o {folder}/tessera {' '.join(str(target) for target, _ in jobs)} ", 1)
    run(["bash", "-c", link], cwd=BUILD)

    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    (folder / "own.yaml").write_text(code["yaml"])
    lines = code["sh"].splitlines()
    small = "data.synthetic.size=48 data.train.count=4 data.val.count=2 train.batch_size=4 train.norm_group=4 train.device=cpu run.pictures=0"
    lines = [text + (f" run.dir={folder}/run {small}" if " train " in text else "") for text in lines]
    output = run(["bash", "-ec", "\n".join(lines)], cwd=folder, env=environment)
    check("classifier (Conv2d)" in output and "body" in output, output)
    check(len(list((folder / "run/checkpoints").glob("step-*/DONE"))) == 1, "no checkpoint of the step")
    output = run([folder / "tessera", "models", "show", "own.yaml", "--size", "32", "--json"], cwd=folder)
    layers = {entry["path"]: entry for entry in json.loads(output)}
    check("body.2" in layers and "body.3" not in layers, "the YAML's options were not followed")

    wrong = subprocess.run([folder / "tessera", "models", "show", path[2], "model.options.widht=3"], capture_output=True, text=True, timeout=300)
    check(wrong.returncode == 2 and "did you mean 'width'" in wrong.stderr, wrong.stderr)


if __name__ == "__main__":
    with Folder() as temporary:
        main(temporary)
    print("docs/add_a_model.md works")
