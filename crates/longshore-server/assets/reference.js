// Draws openapi.json. Texts are only ever put in as texts.
const make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};

const METHODS = ["get", "post", "put", "patch", "delete"];
const spec = await (await fetch("/api/openapi.json")).json();
const short = (reference) => reference.split("/").pop();

// Prose with `code` and with tables, as the document has it.
const prose = (text = "") => {
  const inline = (line) =>
    line.split(/(`[^`]*`)/).map((part) =>
      part.startsWith("`") ? make("code", {}, part.slice(1, -1)) : part);
  return text.split("\n\n").map((block) => {
    const lines = block.trim().split("\n");
    if (!lines[0].startsWith("|")) return make("p", {}, ...inline(lines.join(" ")));
    const rows = lines.filter((line) => !/^\|[-|]+$/.test(line)).map((line) => line.split("|").slice(1, -1));
    return make("table", {}, ...rows.map((cells, n) =>
      make("tr", {}, ...cells.map((cell) => make(n ? "td" : "th", {}, ...inline(cell.trim()))))));
  });
};

const type = (schema) => {
  if (!schema) return ["any JSON"];
  if (schema.$ref) return [make("a", { href: `#schema-${short(schema.$ref)}` }, short(schema.$ref))];
  const many = schema.oneOf ?? schema.anyOf ?? schema.allOf;
  if (many) return many.flatMap((one, n) => [n ? " or " : "", ...type(one)]);
  const names = [].concat(schema.type ?? "any JSON");
  return names.flatMap((name, n) => [n ? " or " : "", ...single(name, schema)]);
};

const single = (name, schema) => {
  if (name === "array") return ["list of ", ...type(schema.items)];
  if (name === "object" && schema.additionalProperties) return ["object of ", ...type(schema.additionalProperties)];
  return [schema.format && name !== "null" ? `${name} (${schema.format})` : name];
};

// Where a field may be null, its description stands at what else it may be.
const about = (schema = {}) =>
  schema.description ?? (schema.oneOf ?? schema.anyOf ?? schema.allOf ?? []).map(about).find(Boolean);

const limits = (schema = {}) => {
  const words = [];
  const say = (key, text) => { if (schema[key] !== undefined) words.push(`${text} ${schema[key]}`); };
  say("minimum", "at least"); say("maximum", "at most");
  say("minLength", "at least characters:"); say("maxLength", "at most characters:");
  say("minItems", "at least entries:"); say("maxItems", "at most entries:");
  if (schema.enum) words.push(schema.enum.join(", "));
  if (typeof schema.example === "string") words.push(`such as ${schema.example}`);
  return words.join("; ");
};

// What a shape consists of: its fields, and theirs where they have no name; of one of several shapes, each of them.
const fields = (schema) => {
  const several = schema.oneOf ?? schema.anyOf ?? [];
  if (several.some((one) => one.properties)) return several.flatMap((one) => [...prose(one.description), ...fields(one)]);
  const parts = schema.allOf?.flatMap((one) => one.$ref ? [make("p", {}, "All of ", ...type(one))] : fields(one));
  if (parts) return parts;
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => make("tr", {},
    make("th", { scope: "row" }, make("code", {}, name), (schema.required ?? []).includes(name) ? " *" : ""),
    make("td", {}, ...type(field)),
    make("td", {}, ...prose(about(field)), limits(field), ...(field.properties ? fields(field) : []))));
  return rows.length ? [make("table", {}, ...rows)] : [make("p", {}, ...type(schema), " ", limits(schema))];
};

const content = (holder) => Object.entries(holder?.content ?? {}).flatMap(([media, { schema }]) =>
  [make("code", {}, media), ": ", ...type(schema), " "]);

const operation = (path, method, item) => {
  const article = make("article", { id: item.operationId },
    make("h3", {}, make("span", { class: "method" }, method.toUpperCase()), make("code", {}, path)),
    ...prose(item.summary), ...prose(item.description));
  const right = item["x-longshore"]?.right;
  const audited = item["x-longshore"]?.audited ? "Leaves an entry in the audit log." : "";
  if (right || audited)
    article.append(make("p", {}, ...(right ? ["Right: ", make("code", {}, right), ". "] : []), audited));
  if (item.parameters?.length)
    article.append(make("table", {}, ...item.parameters.map((parameter) => make("tr", {},
      make("th", { scope: "row" }, make("code", {}, parameter.name), parameter.required ? " *" : ""),
      make("td", {}, parameter.in),
      make("td", {}, ...type(parameter.schema)),
      make("td", {}, ...prose(parameter.description ?? about(parameter.schema)), limits(parameter.schema))))));
  if (item.requestBody) article.append(make("p", {}, "Body: ", ...content(item.requestBody)));
  article.append(make("table", {}, ...Object.entries(item.responses).map(([status, response]) => make("tr", {},
    make("th", { scope: "row" }, status),
    make("td", {}, ...prose(response.description)),
    make("td", {}, ...content(response))))));
  return article;
};

document.querySelector("#version").textContent = spec.info.version;
document.querySelector("#about").append(...prose(spec.info.description));
for (const [path, methods] of Object.entries(spec.paths))
  for (const method of METHODS.filter((method) => methods[method])) {
    const item = methods[method];
    document.querySelector("#operations").append(operation(path, method, item));
    document.querySelector("#index").append(
      make("li", {}, make("a", { href: `#${item.operationId}` }, item.operationId)));
  }
for (const [name, schema] of Object.entries(spec.components.schemas))
  document.querySelector("#schemas").append(make("article", { id: `schema-${name}` },
    make("h3", {}, make("code", {}, name)), ...prose(schema.description), ...fields(schema)));
// The place that the address names is there only now: go to it once more.
if (location.hash) location.replace(location.hash);
