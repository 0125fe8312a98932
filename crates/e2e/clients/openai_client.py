"""The official OpenAI client against a started program. Fails by an assertion; prints what it has shown."""

import sys

import openai

url, gateway, token, gateway_token, model = sys.argv[1:6]
QUESTION = [{"role": "user", "content": "What does the pump P-204 circulate?"}]


def whole(client, name, headers=None, **options):
    answer = client.chat.completions.create(
        model=name, messages=QUESTION, seed=1, temperature=0, extra_headers=headers, **options
    )
    assert answer.object == "chat.completion", answer
    assert answer.id.startswith("chatcmpl-"), answer
    assert answer.choices[0].message.role == "assistant", answer
    assert answer.choices[0].finish_reason in ("stop", "length"), answer
    usage = answer.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens, answer
    return answer


client = openai.OpenAI(base_url=f"{url}/v1", api_key=token, max_retries=0)

names = [one.id for one in client.models.list()]
for name in (f"stoa/edge-ai/{model}", f"edge-ai/{model}", "stoa/rag-chat", "stoa/critic"):
    assert name in names, names
    assert client.models.retrieve(name).id == name
print("models")

answer = whole(client, "stoa/rag-chat")
assert "coolant" in answer.choices[0].message.content, answer
assert "[1]" in answer.choices[0].message.content, answer
first = answer.citations[0]
assert first["number"] == 1 and "coolant" in first["text"], answer
assert answer.model == f"stoa/edge-ai/{model}", answer
print("grounded")

answer = whole(client, f"edge-ai/{model}", max_completion_tokens=20)
assert answer.citations == [] and answer.usage.completion_tokens > 0, answer
print("plain")

text, reasons, used, citations = "", [], None, None
stream = client.chat.completions.create(
    model="stoa", messages=QUESTION, stream=True, stream_options={"include_usage": True}
)
for chunk in stream:
    assert chunk.object == "chat.completion.chunk", chunk
    if not chunk.choices:
        used = chunk.usage
        continue
    text += chunk.choices[0].delta.content or ""
    if chunk.choices[0].finish_reason:
        reasons.append(chunk.choices[0].finish_reason)
        citations = chunk.citations
assert "coolant" in text and reasons == ["stop"], (text, reasons)
assert used is not None and used.total_tokens == used.prompt_tokens + used.completion_tokens, used
assert citations[0]["number"] == 1, citations
print("streamed")

encoder = "edge-ai/all-minilm-l6-v2"
assert encoder in names, names
texts = ["A mite that lives on bees.", "Parasites of insects.", "The budget of 2019."]
# Without a format the client asks for base64, and decodes it.
packed = client.embeddings.create(model=encoder, input=texts, user="ada")
plain = client.embeddings.create(model=encoder, input=texts, encoding_format="float", dimensions=384)
assert packed.object == "list" and packed.model == encoder, packed.model
assert packed.usage.prompt_tokens == packed.usage.total_tokens == plain.usage.total_tokens > 3 * 4, packed.usage
for place, (one, other) in enumerate(zip(packed.data, plain.data, strict=True)):
    assert one.index == other.index == place and len(one.embedding) == 384, one
    assert all(abs(a - b) < 1e-5 for a, b in zip(one.embedding, other.embedding, strict=True)), place
mite, parasites, budget = (one.embedding for one in packed.data)
near, far = (sum(a * b for a, b in zip(mite, other)) for other in (parasites, budget))
assert near > far, (near, far)
assert len(client.embeddings.create(model=encoder, input="One text.").data) == 1
print("embedded")

try:
    client.chat.completions.create(model="gpt-nothing", messages=QUESTION)
    raise SystemExit("an unknown model answered")
except openai.NotFoundError as error:
    assert error.code == "model_not_found" and error.param == "model", error
try:
    client.embeddings.create(model="text-embedding-3-small", input="One text.")
    raise SystemExit("an unknown encoder answered")
except openai.NotFoundError as error:
    assert error.code == "model_not_found" and error.param == "model", error
try:
    client.embeddings.create(model=encoder, input=[15339, 1917])
    raise SystemExit("tokens were read as text")
except openai.BadRequestError as error:
    assert error.param == "input[0]" and "tokens" in error.message, error
try:
    openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0).models.list()
    raise SystemExit("a wrong key was let in")
except openai.AuthenticationError as error:
    assert error.code == "invalid_api_key", error
print("refused")

# The gateway takes `Authorization` for its own tokens: a session's token there is one that does not verify.
own = {"X-Api-Key": token}
try:
    openai.OpenAI(base_url=f"{gateway}/core/v1", api_key=token, default_headers=own, max_retries=0).models.list()
    raise SystemExit("the gateway verified a token that is not its own")
except openai.PermissionDeniedError:
    pass
for name, key, headers in [
    ("without Authorization", "unused", {"Authorization": openai.Omit()}),
    ("with a gateway token", gateway_token, None),
]:
    through = openai.OpenAI(base_url=f"{gateway}/core/v1", api_key=key, default_headers=own, max_retries=0)
    assert "coolant" in whole(through, "stoa/rag-chat", headers).choices[0].message.content, name
    assert through.models.retrieve("stoa/rag-chat", extra_headers=headers).id == "stoa/rag-chat", name
    print("gateway", name)
