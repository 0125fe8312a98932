"""A model that answers at once: OpenAI's chat completions as a stream, in a process of its own. It notes when each
request arrives and when its answer goes out."""
import asyncio, json, multiprocessing, re, time

WORDS = 150  # of an answer: what an agent writes is an artifact of about a kilobyte


class Vendor:
    """`with Vendor() as vendor`: `vendor.url` until the end."""

    def __enter__(self):
        self.pipe, far_end = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=serve, args=(self.pipe, far_end), daemon=True)
        self.process.start()
        far_end.close()
        self.url = f"http://127.0.0.1:{self.pipe.recv()}/v1"
        return self

    def __exit__(self, *_):
        self.pipe.close()
        self.process.join()

    def expect(self, answers):
        """From here on these many answers are awaited, and noted anew."""
        self.pipe.send(answers)

    def notes(self, patience=120):
        """Once the expected answers have gone out: pairs of arrival and answer."""
        if not self.pipe.poll(patience):
            raise RuntimeError(f"the expected requests did not come within {patience} s")
        return self.pipe.recv()


def serve(near_end, pipe):
    near_end.close()  # so that its closing is seen here
    asyncio.run(Desk(pipe).serve())


class Desk:
    def __init__(self, pipe):
        self.pipe, self.notes, self.expected, self.over = pipe, [], None, asyncio.Event()

    async def serve(self):
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Talk(self), "127.0.0.1", 0)
        loop.add_reader(self.pipe.fileno(), self.listen)
        self.pipe.send(server.sockets[0].getsockname()[1])
        await self.over.wait()

    def listen(self):
        try:
            self.expected, self.notes = self.pipe.recv(), []
        except EOFError:  # whoever started it has ended, in whatever way
            self.over.set()

    def note(self, arrived, answered):
        self.notes.append((arrived, answered))
        if len(self.notes) == self.expected:
            self.pipe.send(self.notes)
            self.expected, self.notes = None, []


class Talk(asyncio.Protocol):
    """One kept connection. asyncio sets TCP_NODELAY by itself."""

    def __init__(self, desk):
        self.desk, self.unread = desk, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        if not self.unread:
            self.arrived = time.perf_counter()
        self.unread += data
        head, end, body = self.unread.partition(b"\r\n\r\n")
        if not end or len(body) < int(re.search(rb"(?i)content-length: *(\d+)", head)[1]):
            return
        self.unread = b""
        # Before the one write, so that the write counts as overhead and not as the model's.
        answered = time.perf_counter()
        self.transport.write(ANSWER)
        self.desk.note(self.arrived, answered)


def answer():
    event = lambda **fields: "data: " + json.dumps(dict(id="one", object="chat.completion.chunk", **fields))
    choice = lambda delta, finish: [dict(index=0, delta=delta, finish_reason=finish)]
    text = " ".join(f"word{number % 10}" for number in range(WORDS))
    events = [event(choices=choice(dict(content=text), None)), event(choices=choice({}, "stop")),
              event(choices=[], usage=dict(prompt_tokens=300, completion_tokens=200)), "data: [DONE]", ""]
    body = "\n\n".join(events).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


ANSWER = answer()
