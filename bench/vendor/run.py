#!/usr/bin/env python3
"""Any model in a minute, for real: llama.cpp's server with a model that writes, connected to a running Stoa as an
administrator would do it, on loopback. Names of parts choose what is run; see README.md."""
import argparse, contextlib, json, os, pathlib, tempfile, time, urllib.parse

from servers import ALIAS, FOLDER, HERE, MODEL, PYTHON, ROOT, WINDOW, Client, Llama, Stoa, ask, conversation, ingest, machine
import answers

SENTENCE = "Write one sentence about bees."
WRITING = ROOT / "crates/knowledge/prompts/writing.md"
LONG = "Write a story of three hundred words about a lighthouse."
SEED = ("A diary for beekeepers: for each hive, what was seen and done, and when to look again. It works on a phone without a "
        "network and is shared by the members of a club.")
TOOL = {"type": "function", "function": {
    "name": "get_stock", "description": "Returns how many pieces of an article are in stock.",
    "parameters": {"type": "object", "properties": {"article": {"type": "string"}}, "required": ["article"]}}}
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
          "required": ["name", "age"], "additionalProperties": False}


def main(options):
    print(f"{machine()}; {options.model.name}; {options.server}, window {WINDOW}; {' '.join(options.parts)}", flush=True)
    parts = {"connect": connect, "tasks": tasks, "answers": answers.compare, "tools": tools, "agents": agents}
    with tempfile.TemporaryDirectory() as folder:
        with Llama(options, folder) as llama:
            for part in options.parts:
                print(f"\n# {part}", flush=True)
                parts[part](options, llama)


@contextlib.contextmanager
def connected(options, llama):
    """Stoa with the server as the default for chat and agents."""
    with tempfile.TemporaryDirectory() as folder, Stoa(options.stoa, folder) as stoa:
        _, body = stoa.connect("llama.cpp", llama)
        stoa.use(body["connection"]["id"])
        yield stoa


def connect(options, llama):
    with tempfile.TemporaryDirectory() as folder, Stoa(options.stoa, folder) as stoa:
        user, started = stoa.user("ada"), time.monotonic()
        status, body = stoa.connect("llama.cpp", llama)
        print(f"connected: {status} {json.dumps(body)}")
        id = body["connection"]["id"]
        stoa.use(id)
        asked = time.monotonic() - started
        message, failure, first, taken = ask(user, conversation(user), SENTENCE, withoutDocuments=True)
        print(f"from the connection to the first word {asked + (first or taken):.2f} s (to the question {asked:.2f} s); "
              f"the answer after {taken:.1f} s: {failure or message['content']}", flush=True)
        print("\nwhat the test says:")
        for _ in range(2):
            test(stoa, id)

        print("\nwrong path:")
        refused(stoa, user, stoa.connect("wrong path", llama.url + "/nowhere"))
        with tempfile.TemporaryDirectory() as other:
            with Llama(options, other, key="right-key-0123") as locked:
                for name, more in {"no key": {}, "wrong key": {"apiKey": "wrong-key-4567"}}.items():
                    print(f"\n{name}:")
                    refused(stoa, user, stoa.connect(name, locked, **more))
                print("\nright key:")
                _, body = stoa.connect("right key", locked, apiKey=locked.key)
                test(stoa, body["connection"]["id"])
                print("\nkilled in the middle of an answer:")
                killed(user, locked)
            print("\nasked again, without a server:")
            say(user, "right key", ALIAS)
            test(stoa, body["connection"]["id"])

        print("\na model that is gone:")
        say(user, "llama.cpp", "a-model-that-is-gone")
        test(stoa, id, model="a-model-that-is-gone")


def test(stoa, id, **body):
    started = time.monotonic()
    _, body = stoa.admin.call("POST", f"/api/connections/{id}/test", body)
    told = {name: body.get(name) for name in ("success", "model", "answer", "tokensPerSecond", "error")}
    told["models"] = [model["name"] for model in body.get("models", [])]
    print(f"  test, {time.monotonic() - started:.1f} s: {json.dumps(told)}", flush=True)


def refused(stoa, user, connected):
    """What is told of a connection that does not work: when it is made, when it is tried, and when a user asks."""
    status, body = connected
    print(f"  connected: {status}, error {json.dumps(body.get('error'))}")
    test(stoa, body["connection"]["id"])
    say(user, body["connection"]["name"], ALIAS)


def say(user, provider, model):
    choice = {"provider": provider, "model": model}
    message, failure, _, taken = ask(user, conversation(user), SENTENCE, withoutDocuments=True, llmConfig=choice)
    print(f"  a user, {taken:.1f} s: {json.dumps(failure)}" if failure else f"  a user is answered: {message['content']}", flush=True)


def killed(user, locked):
    body = {"query": LONG, "withoutDocuments": True, "llmConfig": {"provider": "right key", "model": ALIAS}}
    place, tokens, killed_at = conversation(user), 0, None
    for taken, name, data in user.events(f"/api/conversations/{place}/messages", body):
        tokens += name == "token"
        if tokens == 20 and not killed_at:
            locked.kill()
            killed_at = taken
        if name in ("done", "error"):
            kept, status = data["message"]["content"], data["message"]["status"]
            print(f"  {taken - killed_at:.1f} s later: {name}, {json.dumps(data.get('error'))}; the message is `{status}` "
                  f"and keeps: {json.dumps(kept)}", flush=True)


def tasks(options, llama):
    """Each request as a user makes it. Where the program takes it for a question about facts, whose answer is the reader's, it
    is asked once more with the prompt for writing, so that one can read what the model would have written."""
    listed = [json.loads(line) for line in (HERE / "tasks.jsonl").read_text().splitlines()][:options.tasks]
    taken_for_writing, place, history = 0, None, []
    with connected(options, llama) as stoa:
        user = stoa.user("writer")
        ids = {name: id for id, name in ingest(user, sorted((HERE / "documents").iterdir())).items()}
        for number, task in enumerate(listed, 1):
            if not task.get("follows"):
                place, history = conversation(user), []
            more = {"documentIds": [ids[task["document"]]]} if "document" in task else {}
            before = llama.answers()
            message, failure, first, taken = ask(user, place, task["query"], **more)
            text, by_model = failure or message["content"], llama.answers() > before
            taken_for_writing += by_model
            print(f"\n## {number}. {task['name']}\n\n> {task['query']}")
            show("the model" if by_model else "the reader, without the model", text, message, first, taken)
            if not by_model:
                text = write(user, task, history, more)
            history += [f"User: {task['query']}", f"Assistant: {text}"]
    print(f"\n{taken_for_writing} of {len(listed)} requests reached the model by themselves", flush=True)


def write(user, task, history, more):
    """Asks with the prompt for writing, and the passages that a search finds. Returns the text."""
    body = {"query": task["query"], "historyContext": "\n".join(history), "systemPrompt": WRITING.read_text()}
    if task.get("alone") or task.get("follows"):
        body["withoutDocuments"] = True
    else:
        only = {"documentId": document for document in more.get("documentIds", [])}
        path = "/api/search?" + urllib.parse.urlencode({"query": task["query"], "topK": 5, **only})
        body["sources"] = user.call("GET", path)[1]["results"]
    started = time.monotonic()
    status, answer = user.call("POST", "/api/chat", body)
    text = answer["response"] if status == 200 else f"{status} {answer}"
    show("the model, with the prompt for writing", text, answer, None, time.monotonic() - started)
    return text


def show(by, text, message, first, taken):
    begun = f"first word {first:.1f} s, " if first else ""
    titles = [source["metadata"]["filename"] for source in message.get("sources", [])]
    print(f"\n### {by} ({begun}all {taken:.1f} s; sources: {', '.join(titles) or 'none'})\n\n{text}", flush=True)
    for notice in message.get("notices", []):
        print(f"\n(notice: {notice})")


def tools(options, llama):
    question = [{"role": "user", "content": "How many shaft seals do we have in stock? Look it up."}]
    person = [{"role": "user", "content": "Anna Schmidt turned 34 last week. Return her name and age as JSON."}]
    named = {"type": "function", "function": {"name": "get_stock"}}
    schema = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": SCHEMA}}
    with connected(options, llama) as stoa:
        user = stoa.user("tools")
        ways = {"through Stoa": (f"llama.cpp/{ALIAS}", user.call, "/v1"), "the server itself": (ALIAS, llama.ask, "")}
        for way, (model, call, prefix) in ways.items():
            complete = lambda messages, **more: call("POST", f"{prefix}/chat/completions",
                {"model": model, "messages": messages, "temperature": 0, "max_tokens": 200, **more})
            print(f"\n## {way}")
            for choice in ("auto", "required", named):
                status, body = complete(question, tools=[TOOL], tool_choice=choice)
                label = choice if isinstance(choice, str) else "named"
                calls = report(f"tool_choice {label}", status, body)
                if calls:
                    result = {"role": "tool", "tool_call_id": calls[0].get("id"), "content": '{"pieces": 17}'}
                    turns = [*question, {"role": "assistant", "content": None, "tool_calls": calls}, result]
                    report("  with the tool's result", *complete(turns, tools=[TOOL]))
            status, body = complete(person, response_format=schema)
            report("response_format json_schema", status, body)
            with contextlib.suppress(ValueError, LookupError, TypeError):
                found = json.loads(body["choices"][0]["message"]["content"])
                sound = isinstance(found, dict) and found.keys() == {"name", "age"} and isinstance(found["age"], int)
                print(f"  {'is' if sound else 'IS NOT'} of the schema")


def report(what, status, body):
    """Prints what came back. Returns its tool calls."""
    choice = body["choices"][0] if status == 200 else None
    print(f"{what}: {status} {json.dumps(choice['message'] if choice else body)}"
          f"{', finish_reason ' + str(choice['finish_reason']) if choice else ''}", flush=True)
    return choice["message"].get("tool_calls") if choice else None


def agents(options, llama):
    folder = FOLDER / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    with connected(options, llama) as stoa:
        client = Client(stoa.addresses["supervisor"])
        phases = [phase["name"] for phase in client.call("GET", "/api/workflow")[1]["phases"]]
        id = client.call("POST", "/api/projects", {"name": "Bees", "product_seed": SEED})[1]["id"]
        print("| phase | agent | status | seconds | tokens in | tokens out | model |\n|---|---|---|---|---|---|---|", flush=True)
        for phase in phases[:options.phases]:
            status, body = client.call("POST", "/api/execute", {"projectId": id, "phase": phase}, Prefer="respond-async")
            if status != 202:
                print(f"{phase}: {status} {body}")
                break
            finish(client, id, body["runId"])
            traces = [trace for trace in client.call("GET", f"/api/traces/{id}")[1] if trace["run_id"] == body["runId"]]
            for trace in reversed(traces):
                print(f"| {phase} | {trace['agent']} | {trace['status']} {trace['error'] or ''} | {(trace['duration_ms'] or 0) / 1000:.0f} "
                      f"| {trace['input_tokens']} | {trace['output_tokens']} | {trace['provider']}/{trace['model']} |", flush=True)
            if any(trace["status"] == "error" for trace in traces):
                print(f"{phase} ended: {client.call('GET', f'/api/state/{id}')[1]}")
        for artifact in client.call("GET", f"/api/artifacts/{id}")[1]:
            (folder / f"{artifact['phase']}-{artifact['agent']}.md").write_text(artifact["content"])
        print(f"\nartifacts are in {folder}")


def finish(client, project, run):
    """Waits until a run has ended, and approves whatever waits for it."""
    while True:
        state = client.call("GET", f"/api/state/{project}")[1]
        if state["runId"] != run:
            return
        for approval in state["approvals"]:
            client.call("POST", "/api/resume", {"projectId": project, "decision": "approve", "approvalId": approval["approvalId"]})
        time.sleep(1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    names = ["connect", "tasks", "answers", "tools", "agents"]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(names)}; all if none is named")
    parser.add_argument("--stoa", type=pathlib.Path, default=ROOT / "target/release/stoa")
    parser.add_argument("--server", choices=["xllamacpp", "llama-cpp-python"], default="xllamacpp")
    parser.add_argument("--python", type=pathlib.Path, default=PYTHON, help="one that has the server's package")
    parser.add_argument("--model", type=pathlib.Path, default=MODEL)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of the server; fewer if others use the machine")
    parser.add_argument("--set", choices=["a", "b"], help="answers: questions of a stranger; those of bench/answers if absent")
    parser.add_argument("--questions", type=int, help="answers: so many of them, evenly chosen")
    parser.add_argument("--tasks", type=int, help="tasks: the first ones")
    parser.add_argument("--phases", type=int, help="agents: the first ones")
    options = parser.parse_args()
    options.parts = options.parts or names
    if unknown := set(options.parts) - set(names):
        parser.error(f"unknown part `{unknown.pop()}`: one of {', '.join(names)}")
    main(options)
