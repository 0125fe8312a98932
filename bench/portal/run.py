#!/usr/bin/env python3
"""Reads of the portal through the gateway, lists and search among ten thousand entries, and leads a second, each on disk
before it is answered. The last lines hold the figures beside their aims."""
import argparse, http.client, json, os, pathlib, re, shutil, statistics, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / folder) for folder in ("embed", "ingest")]
sys.dont_write_bytecode = True  # the tree stays as it is
from contender import machine
from stoa import PROGRAM, end_with_parent

PASSWORD = "correct horse battery"
ENTRIES = 10_000
WORDS = "pump seal bearing valve glycol turbine hall shaft rotor coolant printer floor meeting budget travel invoice holiday".split()
LEAD = """
local n = 0
local thread_id = 0
function setup(thread) thread:set("id", thread_id); thread_id = thread_id + 1 end
function request()
  n = n + 1
  local body = '{"name":"Ada Solberg","email":"a' .. id .. '-' .. n .. '-%s@example.org","message":"Call me about the pump."}'
  return wrk.format("POST", "/api/leads", {["content-type"] = "application/json"}, body)
end
"""


def start(folder, entries):
    """The program with so many updates: the process, and where each service listens."""
    folder.mkdir()
    updates = [dict(id=f"u{n:05}", title=f"{WORDS[n % 17]} {WORDS[n // 17 % 17]} {n}", createdAt=n,
                    body=f"The {WORDS[n % 13]} of the {WORDS[n % 11]} is looked at in week {n % 52}. " * 4) for n in range(entries)]
    (folder / "updates.json").write_text(json.dumps(dict(updates=updates)))
    settings = {**os.environ, "STOA_DATA_DIR": str(folder / "data"), "ADMIN_PASSWORD": PASSWORD, "ACCESS_LOG": "off",
                "LEADS_PER_MINUTE": "1000000",
                **{f"{name}_LISTEN": "127.0.0.1:0" for name in ("GATEWAY", "PORTAL", "LEADS", "OPS")}}
    subprocess.run([PROGRAM, "portal", "import", folder / "updates.json"], env=settings, check=True, stderr=subprocess.DEVNULL)
    log = open(folder / "log.txt", "wb")
    process = subprocess.Popen([PROGRAM, "serve", "--only", "gateway,portal,leads"], env=settings, stdin=subprocess.DEVNULL,
                               stdout=log, stderr=log, preexec_fn=end_with_parent)
    listen = folder / "data/listen.json"
    for _ in range(200):
        if listen.exists():
            return process, json.loads(listen.read_text())
        time.sleep(0.05)
    sys.exit((folder / "log.txt").read_text())


def call(address, method, path, token=None, body=None):
    connection = http.client.HTTPConnection(address)
    connection.request(method, path, body, {"Authorization": f"Bearer {token}"} if token else {})
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200, (answer.status, text)
    return json.loads(text)


def wrk(url, connections, seconds, token=None, script=None):
    """Requests a second, and the median and 99th percentile in milliseconds."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    command += ["-H", f"Authorization: Bearer {token}"] if token else []
    command += ["-s", script] if script else []
    out = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    assert not refused, out
    unit = {"us": 0.001, "ms": 1.0, "s": 1000.0}
    percentile = lambda which: (lambda found: float(found[1]) * unit[found[2]])(re.search(rf"{which}%\s+([\d.]+)(us|ms|s)", out))
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1]), percentile(50), percentile(99)


def one_by_one(address, path, token, times):
    """Median and 99th percentile in milliseconds, over one connection."""
    connection, took = http.client.HTTPConnection(address), []
    for _ in range(times):
        began = time.perf_counter()
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        took.append((time.perf_counter() - began) * 1000)
    took.sort()
    return statistics.median(took), took[len(took) * 99 // 100]


def main(options):
    if not shutil.which("wrk"):
        sys.exit("wrk is missing: it is a Debian package of that name")
    print(machine())
    with tempfile.TemporaryDirectory(prefix="portal-", dir=options.folder) as folder:
        folder = pathlib.Path(folder)
        process, listen = start(folder / "small", 20)
        try:
            token = call(listen["gateway"], "POST", "/auth/guest", body='{"route": "KV"}')["token"]
            reads, leads = [], []
            script = folder / "lead.lua"
            for number in range(options.rounds):
                reads.append(wrk(f"http://{listen['gateway']}/kv/api/portal/updates", 32, options.seconds, token))
                script.write_text(LEAD % number)
                leads.append(wrk(f"http://{listen['leads']}/api/leads", 32, options.seconds, script=str(script)))
        finally:
            process.terminate()
            process.wait()
        process, listen = start(folder / "large", ENTRIES)
        try:
            token = call(listen["gateway"], "POST", "/auth/guest", body='{"route": "KV"}')["token"]
            page = one_by_one(listen["portal"], "/api/portal/updates?limit=50", token, 200)
            search = [one_by_one(listen["portal"], f"/api/portal/search?q={q}", token, 100) for q in ("turbine", "trubine+holl", "sael+printers+week")]
        finally:
            process.terminate()
            process.wait()
    middle = lambda rounds: [statistics.median(column) for column in zip(*rounds)]
    (read_rate, read_p50, read_p99), (lead_rate, lead_p50, lead_p99) = middle(reads), middle(leads)
    print(f"reads of 21 updates through the gateway, 32 connections: {read_rate:.0f}/s, p50 {read_p50:.2f} ms, p99 {read_p99:.2f} ms")
    print(f"leads, each on disk before its answer, 32 connections: {lead_rate:.0f}/s, p50 {lead_p50:.2f} ms, p99 {lead_p99:.2f} ms")
    print(f"a page of 50 among {ENTRIES} updates: p50 {page[0]:.2f} ms, p99 {page[1]:.2f} ms (aim 10)")
    print("search among them: " + "; ".join(f"p50 {p50:.2f} ms, p99 {p99:.2f} ms" for p50, p99 in search) + " (aim 10)")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=int, default=5)
    options.add_argument("--folder", help="where the data folder is made: a disk, not memory")
    main(options.parse_args())
