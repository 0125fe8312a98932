"""The official MCP client against a started program. Fails by an assertion; prints what it has shown."""

import asyncio
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

url, gateway, token = sys.argv[1:4]


async def use(address, headers, mode):
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with Client(streamable_http_client(address, http_client=http), mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert sorted(tools) == ["ask", "graph_neighbors", "list_documents", "search"], tools
            assert all(tool.description and tool.input_schema["properties"] for tool in tools.values()), tools

            found = await client.call_tool("search", {"query": "who inspected the impeller", "topK": 1})
            assert not found.is_error, found
            assert len(found.structured_content["results"]) == 1, found
            assert "Ada Solberg" in found.structured_content["results"][0]["text"], found
            assert "Ada Solberg" in found.content[0].text, found

            near = await client.call_tool("graph_neighbors", {"node": "Ada Solberg"})
            assert not near.is_error, near
            neighbors = near.structured_content["neighbors"]
            assert "Rotterdam" in [one["label"] for one in neighbors], near
            assert all(0 <= one["strength"] <= 1 for one in neighbors), near

            listed = await client.call_tool("list_documents", {"status": "indexed"})
            titles = sorted(one["title"] for one in listed.structured_content["documents"])
            assert titles == ["impeller.txt", "pump.txt"], listed

            answer = await client.call_tool("ask", {"question": "What does the pump P-204 circulate?"})
            assert not answer.is_error, answer
            assert "coolant" in answer.structured_content["answer"], answer
            assert answer.structured_content["sources"][0]["number"] == 1, answer
            assert "[1]" in answer.content[0].text, answer

            for name, arguments, part in [
                ("search", {}, "`query`"),
                ("search", {"query": "x", "topK": 0}, "`topK`"),
                ("graph_neighbors", {"node": "Nobody At All"}, "Nobody At All"),
                ("list_documents", {"status": "lost"}, "`status`"),
            ]:
                wrong = await client.call_tool(name, arguments)
                assert wrong.is_error and part in wrong.content[0].text, (name, arguments, wrong)


async def main():
    await use(f"{url}/mcp", {"Authorization": f"Bearer {token}"}, "auto")
    print("the present protocol")
    await use(f"{url}/mcp", {"Authorization": f"Bearer {token}"}, "legacy")
    print("the one with a handshake")
    await use(f"{gateway}/core/mcp", {"X-Api-Key": token}, "auto")
    print("through the gateway")


asyncio.run(main())
