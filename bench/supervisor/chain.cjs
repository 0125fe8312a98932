// The peer's service: a handler of steps in a chain, each of which asks the vendor with what the one before has
// brought. It tells how long it was from the end of each step's action to the beginning of the next.
"use strict";
const http = require("node:http");
const http2 = require("node:http2");
const { performance } = require("node:perf_hooks");
const restate = require("@restatedev/restate-sdk");

const [vendor] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true, noDelay: true });

function ask(material) {
  const messages = [{ role: "system", content: "You do what your name says." }, { role: "user", content: material }];
  const body = JSON.stringify({ model: "any", messages, stream: true });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const request = http.request(`${vendor}/chat/completions`, { method: "POST", agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece) => (text += piece));
      response.on("end", () => resolve(read(text))).on("error", reject);
    });
    request.on("error", reject).end(body);
  });
}

function read(stream) {
  const events = stream.split("\n\n").filter((line) => line.startsWith("data: {"));
  return events.map((line) => JSON.parse(line.slice(6)).choices[0]?.delta.content ?? "").join("");
}

async function run(ctx, { steps }) {
  const gaps = [];
  let material = "A diary of each hive that works without a network.";
  let ended;
  for (let step = 0; step < steps; step++) {
    material = await ctx.run(`agent-${step}`, async () => {
      if (ended !== undefined) gaps.push((performance.now() - ended) / 1000);
      const text = await ask(material);
      ended = performance.now();
      return text;
    });
  }
  return gaps;
}

const endpoint = restate.endpoint().bind(restate.service({ name: "chain", handlers: { run } }));
const server = http2.createServer(endpoint.http2Handler());
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
