// Shows the OpenAPI document beside this page, and sends requests to the service that it describes.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];
const byId = (id) => document.getElementById(id);

function element(name, properties = {}, children = []) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function resolve(api, value) {
  if (!value?.$ref) return value;
  return value.$ref.slice(2).split("/").reduce((found, part) => found?.[part], api);
}

/** A text whose parts between backticks are code. */
function prose(text) {
  return text.split("`").map((part, place) => (place % 2 ? element("code", { textContent: part }) : part));
}

/** What a schema is, in a few words. */
function typeName(api, schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) return choices.map((choice) => typeName(api, choice)).join(" or ");
  if (schema.enum) return schema.enum.join(" | ");
  const types = [schema.type].flat().filter(Boolean);
  const names = types.map((type) => (type === "array" ? `list of ${typeName(api, schema.items)}` : type));
  const bounds = schema.maximum === undefined ? "" : ` ${schema.minimum ?? 0} to ${schema.maximum}`;
  return names.join(" or ") + bounds;
}

function jsonExample(content) {
  const json = content?.["application/json"];
  return json?.example === undefined ? "" : JSON.stringify(json.example, null, 2);
}

function parameterRow(api, parameter, inputs) {
  const input = element("input", { ariaLabel: parameter.name, placeholder: parameter.example ?? "" });
  inputs.push({ parameter, input });
  const required = parameter.required ? ", required" : "";
  const about = `${typeName(api, parameter.schema)}, in ${parameter.in}${required}`;
  const text = element("td", {}, [element("div", { className: "muted", textContent: about }), ...prose(parameter.description ?? "")]);
  return element("tr", {}, [element("td", {}, [element("code", { textContent: parameter.name })]), element("td", {}, [input]), text]);
}

/** The address of a request: relative to the folder of this page, which may have a prefix. */
function address(path, inputs) {
  const query = new URLSearchParams();
  for (const { parameter, input } of inputs) {
    if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    if (parameter.in === "query" && input.value) query.append(parameter.name, input.value);
  }
  const search = query.size ? `?${query}` : "";
  return `.${path}${search}`;
}

/** A text field for a JSON body, or fields for a form, with how to read them; none if the operation takes no body. */
function bodyInput(api, content) {
  const example = jsonExample(content);
  if (example) {
    const area = element("textarea", { value: example, ariaLabel: "Body", spellcheck: false });
    return { parts: [area], read: () => ({ type: "application/json", body: area.value }) };
  }
  const form = resolve(api, content?.["multipart/form-data"]?.schema);
  if (!form?.properties) return null;
  const fields = Object.entries(form.properties).map(([name, given]) => {
    const isFile = resolve(api, given)?.format === "binary";
    return { name, input: element("input", { type: isFile ? "file" : "text", ariaLabel: name }) };
  });
  const read = () => {
    const body = new FormData();
    for (const { name, input } of fields) if (input.value) body.append(name, input.files?.[0] ?? input.value);
    return { body };
  };
  const rows = fields.map(({ name, input }) =>
    element("tr", {}, [element("td", {}, [element("code", { textContent: name })]), element("td", {}, [input])]));
  return { parts: [element("table", {}, rows)], read };
}

async function send(method, path, inputs, body, shown) {
  const headers = {};
  const token = byId("token").value.trim();
  if (token) headers.Authorization = `Bearer ${token}`;
  for (const { parameter, input } of inputs) {
    if (parameter.in === "header" && input.value) headers[parameter.name] = input.value;
  }
  const given = body?.read();
  if (given?.type) headers["Content-Type"] = given.type;
  shown.textContent = "…";
  try {
    const answer = await fetch(address(path, inputs), { method: method.toUpperCase(), headers, body: given?.body });
    const text = await answer.text();
    let pretty = text;
    try { pretty = JSON.stringify(JSON.parse(text), null, 2); } catch { /* not JSON: shown as it is */ }
    shown.textContent = `${answer.status} ${answer.statusText}\n${pretty}`;
  } catch (error) {
    shown.textContent = String(error);
  }
}

function tryIt(api, method, path, inputs, operation) {
  const body = bodyInput(api, operation.requestBody?.content);
  const shown = element("pre", { hidden: true });
  const button = element("button", { type: "button", textContent: "Send" });
  button.addEventListener("click", () => {
    shown.hidden = false;
    send(method, path, inputs, body, shown);
  });
  const parts = body ? [element("h3", { textContent: "Body" }), ...body.parts] : [];
  return [...parts, element("p", {}, [button]), shown];
}

function answers(api, responses) {
  const rows = Object.entries(responses).map(([status, given]) => {
    const response = resolve(api, given);
    const example = status < "400" ? jsonExample(response.content) : "";
    const kinds = Object.keys(response.content ?? {}).join(", ");
    const about = [element("div", {}, prose(response.description || kinds))];
    if (example) about.push(element("pre", { textContent: example }));
    return element("tr", {}, [element("td", {}, [element("code", { textContent: status })]), element("td", {}, about)]);
  });
  return [element("h3", { textContent: "Answers" }), element("table", {}, rows)];
}

function fill(api, method, path, operation, box) {
  const inputs = [];
  const parameters = (operation.parameters ?? []).map((parameter) => parameterRow(api, resolve(api, parameter), inputs));
  const parts = operation.description ? [element("p", {}, prose(operation.description))] : [];
  if (parameters.length) parts.push(element("h3", { textContent: "Parameters" }), element("table", {}, parameters));
  box.append(...parts, ...tryIt(api, method, path, inputs, operation), ...answers(api, operation.responses));
}

function operationBox(api, method, path, operation) {
  const isOpen = operation.security?.every((needed) => Object.keys(needed).length === 0);
  const summary = element("summary", {}, [
    element("span", { className: "method", textContent: method }),
    element("code", { textContent: path }),
    " ",
    ...prose(operation.summary ?? ""),
    " ",
    element("span", { className: "muted", textContent: isOpen ? "needs no token" : "" }),
  ]);
  const inside = element("div", { className: "body" });
  const box = element("details", { id: operation.operationId }, [summary, inside]);
  box.dataset.words = `${method} ${path} ${operation.summary ?? ""}`.toLowerCase();
  box.addEventListener("toggle", () => {
    if (!box.open) return;
    if (!inside.hasChildNodes()) fill(api, method, path, operation, inside);
    history.replaceState(null, "", `#${box.id}`);
  });
  return box;
}

function show(api) {
  document.title = api.info.title;
  byId("title").textContent = api.info.title;
  byId("text").textContent = api.info.description ?? "";
  const sections = new Map();
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((method) => item[method])) {
      const tag = item[method].tags?.[0] ?? "service";
      if (!sections.has(tag)) sections.set(tag, element("section", {}, [element("h2", { textContent: tag })]));
      sections.get(tag).append(operationBox(api, method, path, item[method]));
    }
  }
  byId("operations").replaceChildren(...sections.values());
  openLinked();
}

/** Opens the operation that the address names. */
function openLinked() {
  const box = byId(location.hash.slice(1));
  if (box?.tagName !== "DETAILS") return;
  box.open = true;
  box.scrollIntoView();
}

byId("find").addEventListener("input", (event) => {
  const wanted = event.target.value.toLowerCase();
  for (const section of document.querySelectorAll("section")) {
    const boxes = [...section.querySelectorAll("details")];
    for (const box of boxes) box.hidden = !box.dataset.words.includes(wanted);
    section.hidden = boxes.every((box) => box.hidden);
  }
});

addEventListener("hashchange", openLinked);

fetch("openapi.json")
  .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`openapi.json: ${answer.status}`))))
  .then(show)
  .catch((error) => byId("operations").replaceChildren(element("p", { textContent: String(error) })));
