"""Files in buckets: a real S3 server (moto) behind a proxy that checks signatures and injects faults. What is read is what was put there, whatever
the network does; one process of a host fetches a file, the others take it; the cache keeps its limit; what was killed leaves nothing that is
taken for data; credentials are nowhere. Needs moto and boto3: scripts/test-interop runs it."""
import hashlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from support import TINY, Folder, check, final_hash, program

try:
    import boto3
    import botocore.config

    from faulty_s3 import KEY, REGION, SECRET, TOKEN, Fault, Server, error_xml
except ImportError as missing:
    print(f"skipped: {missing}")
    raise SystemExit(77)

TOOL = pathlib.Path(program()).absolute().parents[1] / "tests" / "store_tool"
SHARDS = {f"shard.{i:05}.mds": random.Random(i).randbytes(1_500_000 + i) for i in range(5)}
CONVERTED = [*(a for a in TINY if a.startswith("data.")), "data.train.count=24"]
TINY_RECORDS = ["data.type=mds", *(a for a in TINY if not a.startswith(("data.synthetic", "data.type", "data.train.count", "data.val.count")))]
OUTPUTS = []  # all that was printed, to look for credentials


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def environment(server, home, **more):
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "GCS_", "S3_")) and not k.lower().endswith("_proxy")}
    return {**plain, "HOME": str(home), "AWS_ENDPOINT_URL": server.url, "AWS_REGION": REGION, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
            "TESSERA_CACHE": str(home / "cache"), **more}


def tool(env, *arguments, expect=0):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, env=env, timeout=240)
    OUTPUTS.append(done.stdout + done.stderr)
    check(done.returncode == expect, f"store_tool {' '.join(map(str, arguments))}\nexit code {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def wanted(names=None, algorithm="sha1"):
    """Names with the sizes and hashes that an index would give."""
    return [f"{name},{len(data)},{algorithm}:{hashlib.new(algorithm, data).hexdigest()}" for name, data in SHARDS.items() if names is None or name in names]


def lines(files=SHARDS):
    return "".join(f"{name} {len(data)} {sha256(data)}\n" for name, data in files.items())


def cache_files(cache, ending=""):
    return [p for p in pathlib.Path(cache).rglob("*") if p.is_file() and p.name.endswith(ending)]


def read_and_cached(server, s3, root):
    env = environment(server, root)
    server.plan()
    check(tool(env, "open", "s3://data/set/train", *wanted())[0] == lines(), "what is read is not what was put")
    check(len(server.bodies("shard")) == 5, f"{len(server.bodies('shard'))} downloads of 5 shards")
    server.plan()
    check(tool(env, "open", "s3://data/set/train/", "--ahead", *wanted())[0] == lines(), "what is cached is not what was put")
    check(server.seen == [], f"files with hashes that are in the cache were asked for: {server.seen}")
    # Without a hash the server is asked whether it is the same.
    check(tool(env, "open", "s3://data/set/train", "shard.00001.mds", "shard.00001.mds")[0] == 2 * lines({"shard.00001.mds": SHARDS["shard.00001.mds"]}), "another file")
    check([r["status"] for r in server.seen] == [304], f"asked once whether it changed, not {server.seen}")
    s3.put_object(Bucket="data", Key="set/train/index.json", Body=b"one")
    check(tool(env, "open", "s3://data/set/train", "index.json")[0].split()[2] == sha256(b"one"), "another index")
    s3.put_object(Bucket="data", Key="set/train/index.json", Body=b"two")
    check(tool(env, "open", "s3://data/set/train", "index.json")[0].split()[2] == sha256(b"two"), "a changed file was not noticed")
    s3.put_object(Bucket="data", Key="set/train/empty", Body=b"")
    for _ in range(2):
        check(tool(env, "open", "s3://data/set/train", "empty")[0].split()[1] == "0", "an empty file is one too")
    # A file that an index names by other content than the cache has is fetched again.
    s3.put_object(Bucket="data", Key="set/train/v", Body=b"version 1")
    tool(env, "open", "s3://data/set/train", "v,9")
    s3.put_object(Bucket="data", Key="set/train/v", Body=b"version 2")
    check(tool(env, "open", "s3://data/set/train", f"v,9,md5:{hashlib.md5(b'version 2').hexdigest()}")[0].split()[2] == sha256(b"version 2"), "another version")
    # A damaged file of the cache is none.
    for path in cache_files(root / "cache", ".object"):
        data = bytearray(path.read_bytes())
        data[len(data) // 3] ^= 1
        path.write_bytes(data)
    check(tool(env, "open", "s3://data/set/train", *wanted())[0] == lines(), "damage of the cache reached a reader")
    check(tool(env, "open", f"file://{root}", "missing", expect=1)[1].count("missing") > 0, "no word of a missing file")


def who_may(server, root):
    """Signatures, credentials of files, tokens; and what messages say."""
    one = ["open", "s3://data/set/train", "--retries", 1, "shard.00000.mds"]
    env = environment(server, root)
    unsigned = {k: v for k, v in env.items() if k not in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    text = tool(unsigned, *one, expect=1)[1]
    check("403 (AccessDenied" in text and "no credentials are set" in text and "s3://data/set/train/shard.00000.mds" in text, text)
    text = tool({**env, "AWS_SECRET_ACCESS_KEY": "wrong-wrong-wrong-wrong"}, *one, expect=1)[1]
    check("SignatureDoesNotMatch" in text and "the credentials of the environment" in text and "wrong-wrong" not in text and KEY not in text, text)
    text = tool({**env, "AWS_REGION": "us-west-2"}, *one, expect=1)[1]
    check("unknown key or region us-west-2" in text, text)
    (root / ".aws").mkdir()
    (root / ".aws/credentials").write_text(f"[default]\naws_access_key_id = none\naws_secret_access_key = none\n[work]\naws_access_key_id = {KEY}\n"
                                           f"aws_secret_access_key = {SECRET}\naws_session_token = {TOKEN}\n")
    (root / ".aws/config").write_text(f"[profile work]\nregion = {REGION}\nendpoint_url = {server.url}\n")
    profile = {k: v for k, v in unsigned.items() if k not in ("AWS_ENDPOINT_URL", "AWS_REGION")}
    check(tool({**profile, "AWS_PROFILE": "work", "TESSERA_CACHE": str(root / "other")}, *one)[0].startswith("shard.00000.mds"), "a profile's credentials do not serve")
    text = tool({**profile, "AWS_ENDPOINT_URL": server.url, "AWS_REGION": REGION, "TESSERA_CACHE": str(root / "third")}, *one, expect=1)[1]
    check("profile default of" in text, text)
    server.public = True
    check(tool({**unsigned, "AWS_NO_SIGN_REQUEST": "1", "TESSERA_CACHE": str(root / "fourth")}, *one)[0].startswith("shard"), "a public bucket")
    check(tool({**unsigned, "TESSERA_CACHE": str(root / "fifth")}, "open", f"{server.url}/data/set/train", "shard.00002.mds")[0].startswith("shard"), "by http")
    check("answered 404" in tool(unsigned, "open", f"{server.url}/data/set/train", "shard.09999.mds", expect=1)[1], "a 404 by http")
    check(tool(unsigned, "list", f"{server.url}/data/set/train", "shard.00001.mds")[0] == "shard.00001.mds\n", "a file by its name")
    google = {k: v for k, v in unsigned.items() if k != "AWS_ENDPOINT_URL"}
    server.public = False
    google = {**google, "GCS_ENDPOINT_URL": server.url, "TESSERA_CACHE": str(root / "sixth")}
    check("GCS_KEY and GCS_SECRET are not set" in tool(google, "open", "gs://data/set/train", "shard.00000.mds", expect=1)[1], "gs:// without keys")
    text = tool(env, "open", "s3://data/set/train", "../secret", expect=1)[1]
    check("is no name of a file" in text, text)
    text = tool(env, "open", "s3://data/set/train", "--retries", 1, "shard.77777.mds", expect=1)[1]
    check("s3://data/set/train/shard.77777.mds: the server answered 404 (NoSuchKey" in text, text)
    text = tool(env, "open", "s3://nosuchbucket/x", "y", expect=1)[1]
    check("NoSuchBucket" in text, text)


def faults(server, s3, root):
    """Each kind of fault, for a while: the content is right in the end. For ever: an error that names file and cause."""
    name, data = "shard.00003.mds", SHARDS["shard.00003.mds"]
    server.hang_s = 6
    busy = error_xml("SlowDown", "Please reduce your request rate.")
    passing = {
        "500": [Fault(name, "status", 3, at=500, body="oops")],
        "503": [Fault(name, "status", 3, at=503, body=busy)],
        "429": [Fault(name, "status", 1, at=429, body="", headers={"Retry-After": "1"})],
        "400": [Fault(name, "status", 1, at=400, body=error_xml("RequestTimeout", "idle"))],
        "no answer": [Fault(name, "hang", 1)],
        "reset before": [Fault(name, "reset_first", 2)],
        "reset mid-body": [Fault(name, "reset", 3, at=400_000)],
        "cut": [Fault(name, "cut", 2, at=600_000)],
        "stall": [Fault(name, "stall", 1, at=700_000)],
        "shorter": [Fault(name, "shorter", 1, at=500_000)],
        "corrupt": [Fault(name, "corrupt", 2, at=1_234_567)],
        "all": [Fault(name, "cut", 1, at=300_000), Fault(name, "status", 1, at=503, body=busy), Fault(name, "reset", 1, at=500_000), Fault(name, "corrupt", 1, at=5)],
    }
    for what, planned in passing.items():
        server.plan(*planned)
        env = environment(server, root, TESSERA_CACHE=str(root / f"passing-{what}"))
        out = tool(env, "open", "s3://data/set/train", "--timeout", 2, *wanted([name]))[0]
        check(out == lines({name: data}), f"{what}: {out}")
        check(all(f.times == 0 for f in planned), f"{what}: the fault did not happen")
    server.plan(Fault(name, "cut", 2, at=600_000))
    tool(environment(server, root, TESSERA_CACHE=str(root / "ranges")), "open", "s3://data/set/train", *wanted([name]))
    check([r["range"] for r in server.bodies(name)] == [None, "bytes=600000-", "bytes=1200000-"], f"ranges: {server.bodies(name)}")

    # The object is exchanged between two pieces of it: never half of each.
    other = random.Random(99).randbytes(len(data))
    for kind in ("cut", "reset"):
        s3.put_object(Bucket="data", Key="set/train/changing", Body=data)
        server.plan(Fault("changing", kind, 1, at=900_000), Fault("changing", "before", 1, do=lambda: None))
        exchange = Fault("changing", "status", 1, at=503, body=busy)
        server.faults.insert(1, exchange)
        original = exchange.takes
        exchange.takes = lambda m, p: original(m, p) and (s3.put_object(Bucket="data", Key="set/train/changing", Body=other) or True)
        out = tool(environment(server, root, TESSERA_CACHE=str(root / f"changing-{kind}")), "open", "s3://data/set/train", "changing")[0]
        check(out.split()[2] == sha256(other), f"a mixture of two versions ({kind}): {out}")
    # A server that ignores conditions and gives the rest of another version.
    server.plan(Fault(name, "cut", 1, at=900_000), Fault(name, "etag", 1))
    out = tool(environment(server, root, TESSERA_CACHE=str(root / "etag")), "open", "s3://data/set/train", *wanted([name]))[0]
    check(out == lines({name: data}), "another ETag")
    check([r["range"] for r in server.bodies(name)] == [None, "bytes=900000-", None], f"what has another ETag begins anew: {server.bodies(name)}")

    lasting = {
        "503": (Fault(name, "status", -1, at=503, body=busy), "the server answered 503 (SlowDown: Please reduce your request rate.)"),
        "reset": (Fault(name, "reset", -1, at=0), "reset"),
        "no answer": (Fault(name, "hang", -1), "timed out|too slow|Timeout"),
        "shorter": (Fault(name, "shorter", -1, at=500_000), "has 500000 bytes, expected 1500003"),
        "corrupt": (Fault(name, "corrupt", -1, at=77), "its sha1 is"),
        "403": (Fault(name, "status", -1, at=403, body=error_xml("AccessDenied", "Access Denied")), "AccessDenied"),
    }
    for what, (fault, message) in lasting.items():
        server.plan(fault)
        cache = root / f"lasting-{what}"
        text = tool(environment(server, root, TESSERA_CACHE=str(cache)), "open", "s3://data/set/train", "--timeout", 1, "--retries", 2, *wanted([name]), expect=1)[1]
        last = text.strip().splitlines()[-1]
        check(f"s3://data/set/train/{name}" in last and any(m in last for m in message.split("|")), f"{what}: {text}")
        check(cache_files(cache, ".object") == [], f"{what}: something stays in the cache")
    gone = {**environment(server, root), "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    check("connect" in tool(gone, "open", "s3://data/set/train", "--retries", 1, "x", expect=1)[1], "nobody is there")


def kills(server, root):
    """kill -9 while a file comes, again and again: the next process gets all of it, and nothing of the killed one is left."""
    env, cache = environment(server, root, TESSERA_CACHE=str(root / "killed")), root / "killed"
    for wait in (0.15, 0.3, 0.45, 0.6):
        server.plan(*[Fault(name, "drip", 1, at=100_000, pause=0.05) for name in SHARDS])
        process = subprocess.Popen([TOOL, "open", "s3://data/set/train", "--ahead", *wanted()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.wait()
    server.plan()
    check(tool(env, "open", "s3://data/set/train", "--ahead", *wanted())[0] == lines(), "after kills")
    left = [p.name for p in cache_files(cache) if not p.name.endswith(".object") and p.name != ".lock"]
    check(left == [], f"left over: {left}")


def together(server, root):
    """Processes at the same time: one download for all of them; one that is killed meanwhile does not stop the others."""
    env = environment(server, root, TESSERA_CACHE=str(root / "together"))
    server.plan(*[Fault(name, "drip", 1, at=100_000, pause=0.02) for name in SHARDS])

    def begin():
        return subprocess.Popen([TOOL, "open", "s3://data/set/train", "--ahead", *wanted()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)

    for process in [begin() for _ in range(4)]:
        out, error = process.communicate(timeout=120)
        OUTPUTS.append(out + error)
        check(process.returncode == 0 and out == lines(), out + error)
    check(len(server.bodies("shard")) == len(SHARDS), f"{len(server.bodies('shard'))} downloads of {len(SHARDS)} shards by 4 processes")
    env = environment(server, root, TESSERA_CACHE=str(root / "widow"))
    server.plan(*[Fault(name, "drip", 2, at=100_000, pause=0.05) for name in SHARDS])
    first = begin()
    time.sleep(0.3)
    second = begin()
    time.sleep(0.2)
    first.kill()
    first.communicate()
    out, error = second.communicate(timeout=120)
    check(second.returncode == 0 and out == lines(), out + error)


def limited(server, root):
    """The cache keeps its limit, at every moment, while all files are read again and again."""
    cache, limit = root / "limited", 4_000_000
    env = environment(server, root, TESSERA_CACHE=str(cache))
    server.plan()
    processes = [subprocess.Popen([TOOL, "open", "s3://data/set/train", "--limit", str(limit), "--ahead", *wanted(), *wanted()], stdout=subprocess.PIPE, text=True, env=env)
                 for _ in range(2)]
    most = 0
    while any(p.poll() is None for p in processes):
        held = 0
        for path in cache_files(cache):
            try:
                held += path.stat().st_size
            except FileNotFoundError:
                pass
        most = max(most, held)
        time.sleep(0.005)
    for process in processes:
        check(process.wait() == 0 and process.stdout.read() == 2 * lines(), "a small cache")
    check(0 < most <= limit, f"the cache had {most} bytes, its limit is {limit}")
    text = tool(env, "open", "s3://data/set/train", "--limit", 1_000_000, "shard.00000.mds", expect=1)[1]
    check("s3://data/set/train/shard.00000.mds has" in text and "data.remote.cache_limit" in text, text)


def lists(server, s3, root):
    names = sorted([f"many/{i:04}" for i in range(1234)] + ["many/a b+c&d=e%41;ü.txt", "many/sub/x"])
    for name in names:
        s3.put_object(Bucket="data", Key=f"lists/{name}", Body=name.encode())
    s3.put_object(Bucket="data", Key="lists/many/folder/", Body=b"")
    env = environment(server, root)
    server.plan(Fault("list-type", "status", 1, at=503, body=""))
    check(tool(env, "list", "s3://data/lists", "many/")[0].split("\n")[:-1] == names, "a list of two pages")
    check(sum("continuation-token" in r["path"] for r in server.seen) == 1, "it had two pages")
    check(tool(env, "list", "s3://data/lists", "many/000")[0].split() == [n for n in names if n.startswith("many/000")], "by the beginning of names")
    check(tool(env, "list", "s3://data/nothing", "x")[0] == "", "nothing")
    check(tool(env, "open", "s3://data/lists/many", "a b+c&d=e%41;ü.txt")[0].split()[-1] == sha256("many/a b+c&d=e%41;ü.txt".encode()), "odd names")


def uploads(server, s3, root):
    env = environment(server, root)
    busy = error_xml("SlowDown", "Please reduce your request rate.")
    for size, planned in {
        0: [],
        12_345: [Fault("new", "status", 2, "PUT", at=503, body=busy), Fault("new", "reset_first", 1, "PUT"), Fault("new", "act_then_reset", 1, "PUT")],
        (16 << 20) + 1: [],
        (40 << 20) + 7: [Fault("uploads", "status", 1, "POST", at=500, body=""), Fault("partNumber=2", "reset_first", 2, "PUT"), Fault("partNumber=3", "act_then_reset", 1, "PUT"),
                         Fault("uploadId", "status", 1, "POST", at=503, body=busy)],
    }.items():
        content = random.Random(size).randbytes(size)
        (root / "file").write_bytes(content)
        server.plan(*planned)
        tool(env, "put", "s3://data/out", "new file", root / "file")
        check(s3.get_object(Bucket="data", Key="out/new file")["Body"].read() == content, f"an upload of {size} bytes")
        check(all(f.times == 0 for f in planned), f"upload of {size}: a fault did not happen")
    # A part that never arrives: an error, the old object stays, and no parts are left.
    server.plan(Fault("partNumber=2", "status", -1, "PUT", at=403, body=error_xml("AccessDenied", "Access Denied")))
    text = tool(env, "put", "s3://data/out", "new file", root / "file", expect=1)[1]
    check("s3://data/out/new file" in text and "AccessDenied" in text, text)
    check(s3.get_object(Bucket="data", Key="out/new file")["Body"].read() == content, "the old object")
    check("Uploads" not in s3.list_multipart_uploads(Bucket="data"), "parts of an upload are left")
    tool(env, "remove", "s3://data/out", "new file")
    tool(env, "remove", "s3://data/out", "new file")
    check("Contents" not in s3.list_objects_v2(Bucket="data", Prefix="out/"), "it is removed")


def make_checkpoint(run, step, weights):
    draft = run / "checkpoints" / f".writing-step-{step:08}-x"
    draft.mkdir(parents=True)
    (draft / "model.safetensors").write_bytes(weights)
    (draft / "state.json").write_text(str(step))
    (draft / "DONE").write_text(sha256(weights))
    draft.rename(run / "checkpoints" / f"step-{step:08}")


def keys(s3, prefix):
    found = {}
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket="data", Prefix=prefix):
        for entry in page.get("Contents", []):
            try:
                found[entry["Key"][len(prefix):]] = s3.get_object(Bucket="data", Key=entry["Key"])["Body"].read()
            except s3.exceptions.NoSuchKey:
                pass  # it was removed since it was listed
    return found


def files_of(run):
    return {str(p.relative_to(run)): p.read_bytes() for p in run.rglob("*") if p.is_file() and not any(part.startswith(".") for part in p.relative_to(run).parts)}


def wait_for(condition, what):
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    check(False, f"waited in vain for {what}")


def copies(server, s3, root):
    """A run's folder in a bucket: complete checkpoints only, DONE last; what fails is tried again; another machine takes it from there."""
    env, run = environment(server, root), root / "unet"
    (run / "checkpoints" / ".writing-step-00000099-y").mkdir(parents=True)
    (run / "checkpoints" / ".writing-step-00000099-y" / "model.safetensors").write_bytes(b"half")
    (run / "config.yaml").write_text("model: unet")
    make_checkpoint(run, 10, random.Random(10).randbytes(17 << 20))
    (run / "checkpoints" / "best.json").write_text('{"checkpoint": "step-00000010"}')
    busy = error_xml("SlowDown", "Please reduce your request rate.")
    server.plan(Fault("model.safetensors", "status", 1, "PUT", at=503, body=busy), Fault("state.json", "status", 1, "PUT", at=403, body=error_xml("AccessDenied", "no")))
    process = subprocess.Popen([TOOL, "copy", "s3://data/runs/unet", run], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    wait_for(lambda: "checkpoints/step-00000010/DONE" in keys(s3, "runs/unet/"), "the first checkpoint")
    wait_for(lambda: keys(s3, "runs/unet/") == files_of(run), "all of the folder")
    puts = [r["path"] for r in server.seen if r["method"] == "PUT" and "step-00000010" in r["path"] and r["status"] == 200]
    check(puts[-1].endswith("DONE"), f"DONE is last: {puts}")
    with open(run / "log.jsonl", "a") as log:
        log.write("{}\n")
    (run / "checkpoints" / "step-00000010" / "evaluated.json").write_text("{}")
    for step in (20, 30):
        make_checkpoint(run, step, random.Random(step).randbytes(50_000))
    done = run / "checkpoints" / "step-00000020" / "DONE"
    wait_for(lambda: keys(s3, "runs/unet/") == files_of(run), "three checkpoints")
    done.unlink()
    for path in sorted(done.parent.rglob("*")):
        path.unlink()
    done.parent.rmdir()
    wait_for(lambda: keys(s3, "runs/unet/") == files_of(run), "two checkpoints")
    removed = [r["path"] for r in server.seen if r["method"] == "DELETE"]
    check(removed[0].endswith("step-00000020/DONE"), f"DONE goes first: {removed}")
    process.kill()  # then another process goes on, and what is there is not sent again
    process.communicate()
    server.plan()
    make_checkpoint(run, 40, b"forty")
    out, error = subprocess.run([TOOL, "copy", "s3://data/runs/unet", run], input="", capture_output=True, text=True, env=env, timeout=60), ""
    OUTPUTS.append(out.stderr)
    check(out.returncode == 0 and keys(s3, "runs/unet/") == files_of(run), f"the end of a run: {out.stderr}")
    check(not any(r["method"] in ("PUT", "POST") and "step-00000010/model" in r["path"] for r in server.seen), "a checkpoint went up twice")
    # On another machine, over a network that fails.
    other = root / "elsewhere" / "unet"
    other.mkdir(parents=True)
    server.plan(Fault("model.safetensors", "cut", 1, at=9 << 20), Fault("state.json", "status", 1, at=503, body=busy))
    check(tool(env, "fetch", "s3://data/runs/unet", other)[0] == "fetched\n", "there is something newer")
    expected = {name: data for name, data in files_of(run).items() if "step-00000030" not in name}
    check(files_of(other) == expected, f"the newest, the best and the rest, not {sorted(files_of(other))}")
    check(tool(env, "fetch", "s3://data/runs/unet", other)[0] == "nothing newer\n", "there is nothing newer")
    check(not any(p.name.startswith(".fetched") for p in other.iterdir()), "what was fetched is left")
    # A checkpoint that is not complete is nobody's; names that lead elsewhere are not followed.
    s3.put_object(Bucket="data", Key="runs/unet/checkpoints/step-00000050/model.safetensors", Body=b"part")
    s3.put_object(Bucket="data", Key="runs/unet/../../evil", Body=b"evil")
    s3.put_object(Bucket="data", Key="runs/unet/.hidden", Body=b"evil")
    third = root / "third"
    third.mkdir()
    tool(env, "fetch", "s3://data/runs/unet", third)
    check(files_of(third) == expected and not (root.parent / "evil").exists() and not (third / ".hidden").exists(), f"{sorted(files_of(third))}")
    # A run in a bucket, to be looked at: what it is now, fetched where it is not here.
    for change in ("first", "none", "best", "anew"):
        if change == "best":
            s3.put_object(Bucket="data", Key="runs/unet/checkpoints/best.json", Body=b'{"checkpoint": "step-00000040"}')
        if change == "anew":
            s3.put_object(Bucket="data", Key="runs/unet/checkpoints/step-00000040/DONE", Body=b"another")
        server.plan()
        folder = pathlib.Path(tool(env, "run", "s3://data/runs/unet/", "-")[0].strip())
        there = keys(s3, "runs/unet/")
        check(all(there[name] == data for name, data in files_of(folder).items()) and (folder / "checkpoints/step-00000040/DONE").exists(), f"{change}: {sorted(files_of(folder))}")
        check((len(server.bodies("step-00000040/model")) == 0) == (change == "none"), f"{change}: fetched {server.bodies('model')}")
    check("holds no complete checkpoint" in tool(env, "run", "s3://data/runs/nothing", "-", expect=1)[1], "a run that is not there")
    # A bucket that refuses: the process ends well and says so.
    server.plan(Fault("runs/no", "status", -1, "PUT", at=403, body=error_xml("AccessDenied", "no")))
    out = subprocess.run([TOOL, "copy", "s3://data/runs/no", run], input="", capture_output=True, text=True, env=env, timeout=60)
    OUTPUTS.append(out.stderr)
    check(out.returncode == 0 and "the run is whole in" in out.stderr and "AccessDenied" in out.stderr, out.stderr)


def final_weights(run):
    """The file of weights of a run's last checkpoint."""
    return sorted(run.glob("checkpoints/step-*/model.safetensors"))[-1]


def train(env, *arguments, expect=0):
    done = subprocess.run([program(), "train", *TINY_RECORDS, *map(str, arguments)], capture_output=True, text=True, env={**env, "OMP_NUM_THREADS": "1"}, timeout=280)
    OUTPUTS.append(done.stdout + done.stderr)
    check(done.returncode == expect, f"tessera train {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr


def upload_folder(s3, folder, prefix):
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        s3.upload_file(str(path), "data", f"{prefix}/{path.relative_to(folder)}")


def training(server, s3, root):
    """Training from s3:// ends in the weights of training from the folder, over a network that fails, on one rank and on two; its copy in a bucket is
    gone on with elsewhere."""
    env = environment(server, root)
    shards = root / "shards"
    done = subprocess.run([program(), "data", "convert", *CONVERTED, "-o", shards, "--format", "mds", "--hash", "xxh64", "--shard-size", "20kB"], capture_output=True, text=True, env=env,
                          timeout=200)
    check(done.returncode == 0, done.stdout + done.stderr)
    upload_folder(s3, shards, "cells")
    steps = ["train.duration=6ba", "checkpoint.every=2ba"]
    train(env, f"data.path={shards}", f"run.dir={root / 'local'}", *steps)
    busy = error_xml("SlowDown", "Please reduce your request rate.")
    server.plan(*[Fault("shard", kind, times, at=at, body=busy) for kind, times, at in (("status", 3, 503), ("cut", 3, 5000), ("reset", 2, 3000), ("corrupt", 2, 2000), ("reset_first", 2, 0))])
    train(env, "data.path=s3://data/cells", f"run.dir={root / 'remote'}", "run.upload=s3://data/runs", *steps)
    local = final_hash(root / "local")
    check(local == final_hash(root / "remote"), "training from s3:// gave other weights")
    there = files_of(root / "remote")
    check(keys(s3, "runs/remote/") == there, f"the copy of the run: {sorted(keys(s3, 'runs/remote/'))} and {sorted(there)}")
    measured = []
    for run in (root / "remote", "s3://data/runs/remote"):
        done = subprocess.run([program(), "eval", "-w", run], capture_output=True, text=True, env=env, timeout=200)
        OUTPUTS.append(done.stdout + done.stderr)
        check(done.returncode == 0, done.stdout + done.stderr)
        measured.append(done.stdout)
    check("mean_iou" in measured[0] and measured[0] == measured[1], f"a run in a bucket is measured otherwise: {measured}")
    # Weights from a bucket, predictions to one: as from a file, to a folder.
    weights = final_weights(root / "local")
    s3.upload_file(str(weights), "data", "weights/model.safetensors")
    images = root / "images"
    done = subprocess.run([program(), "data", "convert", *CONVERTED, "-o", images, "--format", "folder"], capture_output=True, text=True, env=env, timeout=200)
    check(done.returncode == 0, done.stdout + done.stderr)
    predicted = {}
    for pretrained, output in ((weights, root / "predictions"), ("s3://data/weights/model.safetensors", "s3://data/predictions/cells")):
        server.plan(*([] if pretrained == weights else [Fault("weights/model", "cut", 1, at=2000), Fault("predictions/", "status", 1, "PUT", at=503, body=busy)]))
        done = subprocess.run([program(), "predict", "--config", root / "local" / "config.yaml", f"model.pretrained={pretrained}", next(images.rglob("val/images")), "-o", output],
                              capture_output=True, text=True, env=env, timeout=200)
        OUTPUTS.append(done.stdout + done.stderr)
        check(done.returncode == 0 and f"in {output}" in done.stdout, done.stdout + done.stderr)
        predicted[str(output)] = files_of(output) if isinstance(output, pathlib.Path) else keys(s3, "predictions/cells/")
    here, there = predicted.values()
    check(len(here) > 1 and here == there, f"predictions in a bucket: {sorted(there)}, here: {sorted(here)}")
    check(not any((root / "cache" / "uploads").iterdir()), "predictions that were sent are still here")
    server.plan(Fault("predictions/", "status", -1, "PUT", at=403, body=error_xml("AccessDenied", "no")))
    done = subprocess.run([program(), "predict", "--weights", root / "local", next(images.rglob("val/images")), "-o", "s3://data/predictions/no"], capture_output=True, text=True, env=env,
                          timeout=200)
    OUTPUTS.append(done.stdout + done.stderr)
    check(done.returncode == 1 and "AccessDenied" in done.stderr and f"all results are in {root / 'cache' / 'uploads'}" in done.stderr, done.stderr)
    check(len(cache_files(root / "cache" / "uploads")) == len(here), "predictions that could not be sent are kept")
    server.plan()
    # Two ranks on a host with an empty cache: one download of each file.
    server.plan()
    train({**env, "TESSERA_CACHE": str(root / "ranks")}, "data.path=s3://data/cells", f"run.dir={root / 'ranks-run'}", "-p", "ddp", "--ranks", "2", *steps)
    names = [r["path"] for r in server.bodies("cells/train/")]
    check(len(names) == len(set(names)), f"files were fetched more than once: {sorted(names)}")
    # Another run of that name is refused before anything is done; with --resume another machine goes on.
    text = train(env, "data.path=s3://data/cells", f"run.dir={root / 'elsewhere' / 'remote'}", "run.upload=s3://data/runs", *steps, expect=2)
    check("s3://data/runs/remote already holds a run" in text, text)
    train(env, "data.path=s3://data/cells", f"run.dir={root / 'short' / 'half'}", "run.upload=s3://data/runs", "--stop-at", "4ba", *steps)
    train(env, "data.path=s3://data/cells", f"run.dir={root / 'other' / 'half'}", "run.upload=s3://data/runs", "--resume", *steps)
    check(final_hash(root / "other" / "half") == local, "gone on with elsewhere it ends otherwise")
    # Wrong credentials are known before the first step; a bucket that fails later harms nothing.
    text = train({**env, "AWS_SECRET_ACCESS_KEY": "wrong-wrong-wrong"}, f"data.path={shards}", f"run.dir={root / 'refused'}", "run.upload=s3://data/runs", *steps, expect=1)
    check("SignatureDoesNotMatch" in text and not (root / "refused").exists(), text)
    server.plan(Fault("runs/harmed", "status", -1, "PUT", at=403, body=error_xml("AccessDenied", "no")))
    text = train(env, f"data.path={shards}", f"run.dir={root / 'harmed'}", "run.upload=s3://data/runs", *steps)
    check("its copy at s3://data/runs/harmed is not" in text and final_hash(root / "harmed") == local, text)
    server.plan()
    train(env, f"data.path={shards}", f"run.dir={root / 'harmed'}", "run.upload=s3://data/runs", "--resume", *steps)
    check(keys(s3, "runs/harmed/") == files_of(root / "harmed"), "--resume completes the copy")
    # A shard that stays broken ends the run with its name.
    server.plan(Fault("cells/train/shard.00001", "status", -1, at=503, body=busy))
    text = train({**env, "TESSERA_CACHE": str(root / "broken")}, "data.path=s3://data/cells", f"run.dir={root / 'broken-run'}", "data.remote.retries=1", *steps, expect=1)
    check("s3://data/cells/train/shard.00001.mds: the server answered 503 (SlowDown" in text, text)


def credentials_are_nowhere(root, *more):
    for secret in (SECRET, TOKEN, KEY, *more):
        for text in OUTPUTS:
            check(secret not in text, f"a credential was printed: {text[:400]}")
        for path in cache_files(root):
            if ".aws" not in path.parts:
                check(secret.encode() not in path.read_bytes(), f"a credential is in {path}")


def main():
    with Folder() as root:
        server = Server()
        plain = botocore.config.Config(s3={"addressing_style": "path"})
        s3 = boto3.client("s3", endpoint_url="http://%s:%d" % server.upstream, aws_access_key_id="x", aws_secret_access_key="x", region_name=REGION, config=plain)
        s3.create_bucket(Bucket="data", CreateBucketConfiguration={"LocationConstraint": REGION})
        for name, data in SHARDS.items():
            s3.put_object(Bucket="data", Key=f"set/train/{name}", Body=data)
        try:
            for part, arguments in ((read_and_cached, (server, s3)), (who_may, (server,)), (faults, (server, s3)), (kills, (server,)), (together, (server,)),
                                    (limited, (server,)), (lists, (server, s3)), (uploads, (server, s3)), (copies, (server, s3)), (training, (server, s3))):
                if len(sys.argv) > 2 and part.__name__ not in sys.argv[2:]:
                    continue
                begin = time.time()
                home = root / part.__name__
                home.mkdir()
                part(*arguments, home)
                print(f"{part.__name__}: {time.time() - begin:.1f} s", flush=True)
            credentials_are_nowhere(root)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
