"""LangChain's ChatOpenAI against a started program: structured output, tools, streams, over completions and responses."""

import sys

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field

url, token = sys.argv[1:3]


class Weather(BaseModel):
    """The weather in a city."""

    city: str = Field(description="Where it is.")
    degrees: int


BERN = Weather(city="Bern", degrees=21)
QUESTION = HumanMessage("How warm is it in Bern?")


def model(name, **options):
    return ChatOpenAI(model=name, base_url=f"{url}/v1", api_key=token, max_retries=0, **options)


for protocol in ({}, {"use_responses_api": True}):
    name = "responses" if protocol else "completions"
    assert model("vendor-a/schema", **protocol).with_structured_output(Weather).invoke([QUESTION]) == BERN
    called = model("vendor-a/tools", **protocol).with_structured_output(Weather, method="function_calling")
    assert called.invoke([QUESTION]) == BERN
    print(name, "structured")

    bound = model("vendor-a/tools", **protocol).bind_tools([Weather])
    answer = bound.invoke([QUESTION])
    call = answer.tool_calls[0]
    assert (call["name"], call["args"]) == ("Weather", BERN.model_dump()), answer
    whole = None
    for chunk in bound.stream([QUESTION]):
        whole = chunk if whole is None else whole + chunk
    assert whole.tool_calls[0]["args"] == BERN.model_dump(), whole
    result = ToolMessage("21 degrees", tool_call_id=call["id"])
    assert bound.invoke([QUESTION, answer, result]).text == "It is warm."
    print(name, "tools")

    text = "".join(chunk.text for chunk in model("vendor-a/m", **protocol).stream([QUESTION]))
    assert text == "It is warm.", text
    print(name, "streamed")
