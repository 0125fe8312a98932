#!/usr/bin/env python3
"""How soon an answer begins, what the pipeline costs without a model, and whether fifty chats at once leave searches
and memory alone. The last line holds the figures beside their aims."""
import argparse, http.client, http.server, json, multiprocessing, pathlib, random, re, statistics, sys, tempfile, threading, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / folder) for folder in ("embed", "search", "ingest")]
sys.dont_write_bytecode = True  # the tree stays as it is
from contender import machine
from stoa import PROGRAM, Stoa, form
from words import zipf_text

CONTEXT_WORDS = 290  # some 1,000 of the model's tokens
SENTENCE_WORDS = 14


class Vendor(http.server.BaseHTTPRequestHandler):
    """Answers at once, and remembers when it was asked."""
    protocol_version = "HTTP/1.1"
    asked = 0.0

    def do_POST(self):
        Vendor.asked = time.perf_counter()
        self.rfile.read(int(self.headers["content-length"]))
        chunk = lambda delta, finish: "data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        body = "\n\n".join([chunk({"content": "Yes [1]."}, None), chunk({}, "stop"), "data: [DONE]", ""]).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main(options):
    vendor = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Vendor)
    threading.Thread(target=vendor.serve_forever, daemon=True).start()
    settings = dict(CHAT_REQUESTS_PER_MINUTE="1000000", VENDOR_A_API_KEY="none",
                    VENDOR_A_BASE_URL=f"http://127.0.0.1:{vendor.server_port}/v1")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, Stoa(PROGRAM, folder, **settings) as stoa:
        print(machine(), flush=True)
        measure(stoa, stoa.client("admin"), random.Random(7), options)


def measure(stoa, client, dice, options):
    print(f"{fill(client, dice, options.passages)} passages are indexed", flush=True)
    question = lambda: zipf_text(dice, 8)
    plain = lambda: {"query": question()}
    own = lambda: {"query": question(), "systemPrompt": "Answer in two sentences.",
                   "sources": [{"text": prose(dice, CONTEXT_WORDS // 5)} for _ in range(5)]}
    chat(client, plain())  # the first search reads the passages

    read = chat(client, {**own(), "llmConfig": {"provider": "edge-ai", "model": "any", "maxTokens": 1}})["usage"]["inputTokens"]
    written = [first_token(client, own()) for _ in range(options.rounds)]
    quoted = [first_token(client, plain()) for _ in range(options.rounds * 5)]
    print(f"first word in the model's own words, {read} tokens read: {ms(written)}")
    print(f"first word of an answer from the documents: {ms(quoted)}", flush=True)

    pipeline = []
    for _ in range(options.rounds * 10):
        started = time.perf_counter()
        chat(client, {**plain(), "llmConfig": {"provider": "vendor-a", "model": "any"}})
        pipeline.append(Vendor.asked - started)
    print(f"from the question to the vendor's door: {ms(pipeline)}", flush=True)
    print(f"searches alone: {ms(searches(client, question, options.seconds))}", flush=True)

    worst = 0.0
    for name, body in {"answers from the documents": plain, "the model's own words": own}.items():
        before = resident(stoa)
        times, chats, peak = together(stoa, client, question, body, options)
        worst = max(worst, p99(times))
        print(f"searches beside {options.chats} chats at once ({name}): {ms(times)}; {chats / options.seconds:.1f} chats/s; "
              f"{before:.0f} MiB before, {peak:.0f} at most, {resident(stoa):.0f} after", flush=True)
    for figure in re.findall(r"^chat_\w+_total.*", stoa.metrics(), re.M):
        print(figure)
    print(f"first word {statistics.median(written):.2f} s (aim 1.5); pipeline {1000 * statistics.median(pipeline):.1f} ms (aim 10); "
          f"search p99 beside {options.chats} chats {1000 * worst:.1f} ms (aim 50)")


def chat(client, body):
    return client.call("POST", "/api/chat", json.dumps(body))


def first_token(client, body):
    """Seconds to the first token of a stream; the rest is left unread."""
    connection = http.client.HTTPConnection(client.address, timeout=600)
    started = time.perf_counter()
    connection.request("POST", "/api/chat", json.dumps(body), {**client.headers, "Accept": "text/event-stream"})
    for line in connection.getresponse():
        if line.startswith(b"event: token"):
            break
    taken = time.perf_counter() - started
    connection.close()
    return taken


def fill(client, dice, wanted):
    """Documents of some hundred passages each, several at a time."""
    counts, lock = [], threading.Lock()

    def work(client, number):
        while sum(counts) < wanted:
            with lock:
                text = prose(dice, 10_000)
            counts.append(client.call("POST", "/api/ingest", form((f"{number}-{len(counts)}.txt", text.encode())))["chunks"])

    workers = [threading.Thread(target=work, args=(client.another(), number)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts)


def prose(dice, words):
    sentences = (zipf_text(dice, SENTENCE_WORDS).capitalize() + "." for _ in range(words // SENTENCE_WORDS))
    return " ".join(sentences)


def searches(client, question, seconds):
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        client.search(question())
        times.append(time.perf_counter() - started)
        time.sleep(0.02)
    return times


def together(stoa, client, question, body, options):
    """Searches while chats run all the time, in a process of their own so that they do not hold up the clock: the
    searches' times, how many chats ended, and the most memory."""
    ended, over = multiprocessing.Value("i", 0), multiprocessing.Event()
    talking = multiprocessing.Process(target=talk, args=(client, [body() for _ in range(1000)], options.chats, ended, over))
    talking.start()
    time.sleep(1)
    peak, watched = [resident(stoa)], threading.Event()

    def watch():
        while not watched.wait(0.1):
            peak.append(resident(stoa))

    watching = threading.Thread(target=watch)
    watching.start()
    before = ended.value
    times = searches(client, question, options.seconds)
    chats = ended.value - before
    over.set()
    talking.join()
    watched.set()
    watching.join()
    return times, chats, max(peak)


def talk(client, bodies, at_once, ended, over):
    def one(client, number):
        while not over.is_set():
            chat(client, bodies[number % len(bodies)])
            with ended.get_lock():
                ended.value += 1
            number += at_once

    threads = [threading.Thread(target=one, args=(client.another(), number)) for number in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def resident(stoa):
    status = pathlib.Path(f"/proc/{stoa.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def ms(times):
    return f"p50 {1000 * statistics.median(times):.1f} ms, p99 {1000 * p99(times):.1f} ms"


def p99(times):
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.99))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="for the data; the system's temporary folder where absent")
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--chats", type=int, default=50)
    main(parser.parse_args())
