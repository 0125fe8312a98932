"""Tools, JSON by a schema, pictures and responses with the official OpenAI client. Fails by an assertion; prints what it has shown."""

import base64
import sys

import openai
from pydantic import BaseModel

url, token = sys.argv[1:3]
client = openai.OpenAI(base_url=f"{url}/v1", api_key=token, max_retries=0)


class Weather(BaseModel):
    city: str
    degrees: int


BERN = Weather(city="Bern", degrees=21)
TOOL = openai.pydantic_function_tool(Weather, name="weather", description="Of a city.")
FLAT = {"type": "function", "name": "weather", "description": "Of a city.", "strict": True,
        "parameters": TOOL["function"]["parameters"]}
QUESTION = "How warm is it in Bern?"
ASKED = [{"role": "user", "content": QUESTION}]
PICTURE = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()

# Chat completions: a call, its result, the answer.
answer = client.chat.completions.create(model="vendor-a/tools", messages=ASKED, tools=[TOOL])
choice = answer.choices[0]
assert choice.finish_reason == "tool_calls" and choice.message.content is None, answer
call = choice.message.tool_calls[0]
assert (call.type, call.function.name) == ("function", "weather"), call
assert Weather.model_validate_json(call.function.arguments) == BERN, call
result = {"role": "tool", "tool_call_id": call.id, "content": "21 degrees"}
answer = client.chat.completions.create(
    model="vendor-a/tools", messages=[*ASKED, choice.message, result], tools=[TOOL]
)
assert answer.choices[0].message.content == "It is warm.", answer
assert answer.choices[0].finish_reason == "stop" and not answer.choices[0].message.tool_calls, answer
print("called")

with client.chat.completions.stream(
    model="vendor-a/tools", messages=ASKED, tools=[TOOL], parallel_tool_calls=False,
    tool_choice={"type": "function", "function": {"name": "weather"}},
) as stream:
    kinds = {event.type for event in stream}
    final = stream.get_final_completion()
assert "tool_calls.function.arguments.delta" in kinds and "tool_calls.function.arguments.done" in kinds, kinds
assert final.choices[0].finish_reason == "tool_calls", final
assert final.choices[0].message.tool_calls[0].function.parsed_arguments == BERN, final
print("called in a stream")

parsed = client.chat.completions.parse(model="vendor-a/schema", messages=ASKED, response_format=Weather)
assert parsed.choices[0].message.parsed == BERN, parsed
print("parsed")

content = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": PICTURE}}]
answer = client.chat.completions.create(model="vendor-a/sees", messages=[{"role": "user", "content": content}])
assert answer.choices[0].message.content == "It is warm.", answer
print("seen")

# Responses.
answer = client.responses.create(model="vendor-a/m", input=QUESTION, instructions="Be brief.", store=False)
assert answer.status == "completed" and answer.output_text == "It is warm.", answer
assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens == 18, answer
assert answer.id.startswith("resp_") and answer.model == "vendor-a/m" and answer.instructions == "Be brief.", answer
print("responded")

text, numbers, kinds = "", [], []
for event in client.responses.create(model="vendor-a/m", input=QUESTION, stream=True):
    numbers.append(event.sequence_number)
    kinds.append(event.type)
    if event.type == "response.output_text.delta":
        text += event.delta
assert text == "It is warm." and numbers == list(range(len(numbers))), (text, numbers)
assert [kind for kind in kinds if not kind.endswith(".delta")] == [
    "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
    "response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
], kinds
with client.responses.stream(model="vendor-a/schema", input=QUESTION, text_format=Weather) as stream:
    for _ in stream:
        pass
    assert stream.get_final_response().output_parsed == BERN
print("responded in a stream")

parsed = client.responses.parse(model="vendor-a/schema", input=QUESTION, text_format=Weather)
assert parsed.output_parsed == BERN, parsed
print("responses parsed")

answer = client.responses.create(model="vendor-a/tools", input=QUESTION, tools=[FLAT], tool_choice="required")
call = answer.output[0]
assert (call.type, call.name, call.status) == ("function_call", "weather", "completed"), answer
assert Weather.model_validate_json(call.arguments) == BERN, answer
result = {"type": "function_call_output", "call_id": call.call_id, "output": "21 degrees"}
said = [{"role": "user", "content": [{"type": "input_text", "text": QUESTION}]}, call, result]
answer = client.responses.create(model="vendor-a/tools", input=said, tools=[FLAT])
assert answer.output_text == "It is warm.", answer
with client.responses.stream(model="vendor-a/tools", input=QUESTION, tools=[FLAT]) as stream:
    kinds = [event.type for event in stream]
    final = stream.get_final_response()
assert kinds.count("response.function_call_arguments.delta") == 2, kinds
assert "response.function_call_arguments.done" in kinds, kinds
assert Weather.model_validate_json(final.output[0].arguments) == BERN, final
print("responses called")

answer = client.responses.create(model="stoa", input="What does the pump P-204 circulate?")
assert "coolant" in answer.output_text and answer.citations[0]["number"] == 1, answer
print("responses from documents")


def refused(param, create, **body):
    try:
        create(**body)
    except openai.BadRequestError as error:
        assert error.param == param and f"`{param}`" in error.message, error
        return
    raise SystemExit(f"`{param}` was taken")


refused("tools", client.chat.completions.create, model="stoa", messages=ASKED, tools=[TOOL])
refused("text.format", client.responses.parse, model="stoa", input=QUESTION, text_format=Weather)
refused("previous_response_id", client.responses.create, model="stoa", input="x", previous_response_id="resp_1")
print("refused")
