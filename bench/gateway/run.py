#!/usr/bin/env python3
"""Stoa's gateway beside other proxies: requests a second, CPU a request, latency, memory.

Two cores: wrk and the target (nginx) on the first, the proxy under test on the second. Rounds are interleaved
and medians taken, because machines are noisy; what counts is the ratio within one run. Everything listens on
loopback, and each round ends by itself.
"""
import argparse, base64, hashlib, hmac, json, os, pathlib, re, shutil, signal, statistics, subprocess, sys, tempfile, time, urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SECRET = "a secret for benchmarks that is long enough"
PORTS = dict(target=19000, stoa=19001, haproxy=19002, nginx=19003, envoy=19004, caddy=19005)
WRK_CORE, PROXY_CORE = "0", "1"


def token():
    part = lambda value: base64.urlsafe_b64encode(value).rstrip(b"=")
    now = int(time.time())
    claims = dict(projectId="guest", route="BUILD", scopes=["guest"], environment="staging", issuedBy="stoa",
                  iss="stoa", aud="stoa", iat=now, exp=now + 3600)
    signed = part(b'{"typ":"JWT","alg":"HS256"}') + b"." + part(json.dumps(claims).encode())
    return (signed + b"." + part(hmac.new(SECRET.encode(), signed, hashlib.sha256).digest())).decode()


class Proxies:
    """Starts each program with its configuration, and ends them all by their ids."""

    def __init__(self, folder):
        self.folder, self.running = folder, {}
        (folder / "large").write_bytes(b"x" * 65536)

    def configure(self, name):
        text = (HERE / name).read_text()
        values = dict(PORTS, folder=self.folder, secret=SECRET, answer='{"pad": "%s"}' % ("x" * 189),
                      secret64=base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="))
        for key, value in values.items():
            text = text.replace(f"@{key}@", str(value))
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def start(self, name, command, core, env=None):
        log = open(self.folder / f"{name}.out", "wb")
        process = subprocess.Popen(["taskset", "-c", core, *command], stdout=log, stderr=log,
                                   env=dict(os.environ, **(env or {})), start_new_session=True)
        self.running[name] = process
        url = f"http://127.0.0.1:{PORTS[name]}" + ("/" if name == "target" else "/build/")
        for _ in range(200):
            try:
                request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token()}"})
                assert b"pad" in urllib.request.urlopen(request, timeout=2).read()
                return
            except OSError:
                time.sleep(0.05)
        sys.exit(f"{name} did not start: {(self.folder / f'{name}.out').read_text()[-2000:]}")

    def start_all(self, names, access_log):
        self.start("target", ["nginx", "-p", str(self.folder), "-c", self.configure("target.conf")], WRK_CORE)
        if "stoa" in names:
            # The log goes to a file, as it would in earnest.
            self.start("stoa", [str(ROOT / "target/release/stoa"), "serve", "--only", "gateway"], PROXY_CORE, dict(
                GATEWAY_LISTEN=f"127.0.0.1:{PORTS['stoa']}", OPS_LISTEN="127.0.0.1:0", JWT_SECRET=SECRET,
                STOA_DATA_DIR=str(self.folder / "data"), BUILD_SERVICE_URL=f"http://127.0.0.1:{PORTS['target']}",
                ACCESS_LOG=access_log))
        if "haproxy" in names:
            self.start("haproxy", ["haproxy", "-f", self.configure("haproxy.cfg")], PROXY_CORE)
        if "nginx" in names:
            self.start("nginx", ["nginx", "-p", str(self.folder), "-c", self.configure("nginx.conf")], PROXY_CORE)
        if "envoy" in names:
            self.start("envoy", [tool("envoy"), "-c", self.configure("envoy.yaml"), "--concurrency", "1",
                                 "--log-level", "error"], PROXY_CORE)
        if "caddy" in names:
            self.start("caddy", [tool("caddy"), "run", "--config", self.configure("Caddyfile"), "--adapter",
                                 "caddyfile"], PROXY_CORE, dict(GOMAXPROCS="1", HOME=str(self.folder)))

    def stop_all(self):
        for process in self.running.values():
            os.killpg(process.pid, signal.SIGTERM)
        for process in self.running.values():
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)

    def pids(self, name):
        first = self.running[name].pid
        children = pathlib.Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    def cpu_seconds(self, name):
        ticks = 0
        for pid in self.pids(name):
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory(self, name):
        status = [pathlib.Path(f"/proc/{pid}/status").read_text() for pid in self.pids(name)]
        return sum(int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) for text in status) / 1024


def tool(name):
    """Envoy and Caddy come as packages; they are optional."""
    path = ROOT / "target/bench/bin" / name
    return str(path) if path.exists() else name


def wrk(proxies, name, connections, seconds, path):
    prefix = "" if name == "target" else "/build"
    url = f"http://127.0.0.1:{PORTS[name]}{prefix}{path}"
    before = proxies.cpu_seconds(name)
    run = subprocess.run(["taskset", "-c", WRK_CORE, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency",
                          "-H", f"Authorization: Bearer {TOKEN}", url], capture_output=True, text=True)
    out = run.stdout
    requests = int(re.search(r"(\d+) requests in", out).group(1))
    if errors := re.search(r"(Socket errors.*|Non-2xx.*)", out):
        sys.exit(f"{name}: {errors.group(1)}")
    latency = {at: milliseconds(text) for at, text in re.findall(r"(50|99)%\s+([\d.]+\w+)", out)}
    return dict(rps=float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1)), p50=latency["50"],
                p99=latency["99"], cpu=1e6 * (proxies.cpu_seconds(name) - before) / requests,
                memory=proxies.memory(name))


def milliseconds(text):
    number, unit = re.match(r"([\d.]+)(\w+)", text).groups()
    return float(number) * dict(us=1e-3, ms=1, s=1e3)[unit]


def compare(proxies, names, connections, path, rounds, seconds):
    results = {name: [] for name in names}
    for name in names:
        wrk(proxies, name, connections, 1, path)
    for _ in range(rounds):
        for name in names:
            results[name].append(wrk(proxies, name, connections, seconds, path))
            time.sleep(0.2)
    median = lambda name, key: statistics.median(one[key] for one in results[name])
    print(f"\n### {connections} connections, {'64 KiB' if path == '/large' else '200 bytes'}\n")
    print("| | requests/s | × haproxy | × nginx | p50 ms | p99 ms | CPU µs/request | MiB |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        ratio = lambda peer: f"{median(name, 'rps') / median(peer, 'rps'):.2f}" if peer in names else ""
        print(f"| {name} | {median(name, 'rps'):,.0f} | {ratio('haproxy')} | {ratio('nginx')} | "
              f"{median(name, 'p50'):.2f} | {median(name, 'p99'):.2f} | {median(name, 'cpu'):.1f} | "
              f"{median(name, 'memory'):.1f} |", flush=True)
    return {name: median(name, "rps") for name in names}


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--seconds", type=int, default=3)
    arguments.add_argument("--proxies", default="target,stoa,haproxy,nginx,envoy,caddy")
    arguments.add_argument("--loads", default="1:/,32:/,256:/,32:/large,256:/large", help="connections:path, …")
    arguments.add_argument("--access-log", default="on")
    options = arguments.parse_args()
    TOKEN = token()
    names = [name for name in options.proxies.split(",") if name == "target" or name == "stoa" or shutil.which(tool(name))]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        proxies = Proxies(pathlib.Path(folder))
        try:
            proxies.start_all(names, options.access_log)
            for load in options.loads.split(","):
                connections, path = load.split(":")
                compare(proxies, names, int(connections), path, options.rounds, options.seconds)
        finally:
            proxies.stop_all()
