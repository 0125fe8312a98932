#!/usr/bin/env python3
"""vendor-a against a real server of its protocol: llama.cpp with the embedded model's own GGUF file, on loopback.

Shows that an answer streams, what usage is told, and how long the first word takes, for a question that is asked twice:
the second time the server has read it before.
"""
import argparse, pathlib, re, socket, subprocess, sys, tempfile, time, urllib.error, urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "embed"))
sys.dont_write_bytecode = True  # the tree stays as it is
from contender import PYTHON, ROOT, find_model, machine, models_folder

QUESTION = "Why is the sky blue?"
SUMMARY = re.compile(r"(\d+) pieces, the first after ([\d.]+) s, .*")


def main(options):
    model = options.model or find_model(options.models, "*.gguf")
    print(f"{machine()}; {model.name}; llama.cpp as vendor-a")
    with tempfile.TemporaryFile() as log:
        port = free_port()
        server = subprocess.Popen([options.python, "-m", "llama_cpp.server", "--model", model, "--host", "127.0.0.1",
                                   "--port", str(port), "--n_ctx", "2048", "--model_alias", "local"],
                                  stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until_ready(server, port, options.timeout, log)
            for turn in ("first", "again"):
                ask(options, port, turn)
            refused(options, port)
        finally:
            server.terminate()
            server.wait(timeout=20)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_ready(server, port, timeout, log):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if server.poll() is not None:
            log.seek(0)
            sys.exit(f"the server ended: {log.read().decode(errors='replace')[-800:]}")
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=2).read()
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    sys.exit(f"the server is not ready after {timeout} s")


def ask(options, port, turn):
    asked = run(options, port, "/v1", options.timeout)
    found = SUMMARY.search(asked.stdout)
    if asked.returncode or not found:
        sys.exit(f"no answer: {asked.stdout}{asked.stderr}")
    print(f"\n{turn}: {asked.stdout.strip()}")
    if int(found[1]) < 2:
        sys.exit("the answer came in one piece: it did not stream")


def refused(options, port):
    """A path that the server does not know is told with the server's own words."""
    asked = run(options, port, "/nowhere", options.timeout)
    if asked.returncode == 0 or "answered 404" not in asked.stdout:
        sys.exit(f"expected a refusal: {asked.stdout}{asked.stderr}")
    print(f"\nwrong path: {asked.stdout.strip()}")


def run(options, port, path, timeout):
    command = [options.ask, "vendor-a", f"http://127.0.0.1:{port}{path}", "local", QUESTION]
    return subprocess.run(command, input="", capture_output=True, text=True, timeout=timeout)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--models", type=pathlib.Path, default=models_folder())
    arguments.add_argument("--model", type=pathlib.Path, help="a GGUF file instead of the pulled one")
    arguments.add_argument("--python", type=pathlib.Path, default=PYTHON, help="one that has llama-cpp-python[server]")
    arguments.add_argument("--ask", type=pathlib.Path, default=ROOT / "target/release/examples/ask")
    arguments.add_argument("--timeout", type=int, default=120)
    main(arguments.parse_args())
