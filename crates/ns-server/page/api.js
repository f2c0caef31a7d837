"use strict";
// Lists the paths of /openapi.json with the schemas of their bodies, and sends requests to them.

const by = (id) => document.getElementById(id);

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// Returns an example of a schema.
function example(schema, all, depth = 0) {
  if (schema.$ref) return depth > 6 ? {} : example(all[schema.$ref.split("/").pop()], all, depth + 1);
  if (schema.oneOf) return example(schema.oneOf.find((one) => one.type !== "null") ?? {}, all, depth + 1);
  if (schema.enum) return schema.enum[0];
  const kind = [schema.type].flat().find((name) => name !== "null");
  if (kind === "object") {
    const required = schema.required ?? [];
    const kept = Object.entries(schema.properties ?? {}).filter(([key]) => required.includes(key));
    return Object.fromEntries(kept.map(([key, value]) => [key, example(value, all, depth + 1)]));
  }
  return { array: [], string: "", integer: 1, number: 1, boolean: false }[kind] ?? null;
}

function section(path, method, operation, all) {
  const schema = operation.requestBody?.content?.["application/json"]?.schema;
  const body = schema ? make("textarea", { value: JSON.stringify(example(schema, all), null, 2), spellcheck: false }) : null;
  const inputs = (operation.parameters ?? []).map((parameter) =>
    Object.assign(make("input", { placeholder: parameter.description ?? "" }), { parameter }));
  const output = make("pre", { hidden: true });
  const button = make("button", { textContent: "Send", type: "button" });
  button.onclick = async () => {
    button.disabled = true;
    try {
      let place = path;
      const query = new URLSearchParams();
      for (const { parameter, value } of inputs) {
        if (parameter.in === "path") place = place.replace(`{${parameter.name}}`, encodeURIComponent(value));
        else if (value) query.set(parameter.name, value);
      }
      const token = by("token").value.trim();
      const headers = { ...(body ? { "Content-Type": "application/json" } : {}), ...(token ? { Authorization: `Bearer ${token}` } : {}) };
      const answer = await fetch(`${place}${query.size ? `?${query}` : ""}`, { method, headers, body: body?.value });
      output.textContent = `${answer.status} ${answer.statusText}\n${(await answer.text()).slice(0, 100000)}`;
    } catch (error) {
      output.textContent = error.message;
    }
    output.hidden = false;
    button.disabled = false;
  };
  const labels = inputs.map((input) => make("label", { textContent: `${input.parameter.name} ` }, input));
  const shape = schema ? make("details", {}, make("summary", { textContent: "Schema" }),
    make("pre", { textContent: JSON.stringify(all[schema.$ref.split("/").pop()], null, 2) })) : "";
  return make("details", {}, make("summary", { textContent: `${method.toUpperCase()} ${path}: ${operation.summary}` }),
    make("p", {}, ...labels), body ?? "", make("p", {}, button), output, shape);
}

async function list() {
  const document = await (await fetch("/openapi.json")).json();
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of ["get", "post", "delete"]) {
      if (item[method]) by("paths").append(section(path, method, item[method], document.components.schemas));
    }
  }
}

list().catch((error) => { by("paths").textContent = error.message; });
