// JSON as text where numbers must stay what they are, and the very text of a value inside a larger one.

/** JSON as text, which is sent byte for byte: `new RawJson('{"n": 12345678901234567890}')`. */
export class RawJson {
  constructor(readonly text: string) {
    JSON.parse(text); // or it could end the body early
  }
}

/** The value as text that `write` puts in as it is. What JSON has no word for, such as a function, is null. */
export function raw(value: unknown): RawJson {
  if (value instanceof RawJson) return value;
  return trusted(dumps(value));
}

/** As text. JSON has no NaN and no infinity; `JSON.stringify` makes them null, and so does this. */
export function dumps(value: unknown): string {
  return value instanceof RawJson ? value.text : (JSON.stringify(value) ?? "null");
}

/** A text that is JSON for certain. */
export function trusted(text: string): RawJson {
  return Object.assign(Object.create(RawJson.prototype) as RawJson, { text });
}

/** Like `dumps`, with `RawJson` in any place. What is undefined is left out of objects. */
export function write(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map(write).join(",")}]`;
  if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    const members = Object.entries(value).filter(([, item]) => item !== undefined);
    return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${write(item)}`).join(",")}}`;
  }
  return dumps(value);
}

/** The parsed answer of a lease call, and the text of each job's payload. */
export function jobsOf(text: string): { whole: Record<string, unknown>; payloads: string[] } {
  const whole = JSON.parse(text) as Record<string, unknown>; // from here on it is known to be JSON
  const payloads: string[] = [];
  for (const [key, start] of members(text, 0)) {
    if (key !== "jobs") continue;
    for (const job of items(text, start)) {
      let payload = "null";
      for (const [name, begin, end] of members(text, job)) {
        if (name === "payload") payload = text.slice(begin, end);
      }
      payloads.push(payload);
    }
  }
  return { whole, payloads };
}

function* members(text: string, open: number): Generator<[string, number, number]> {
  let at = space(text, space(text, open) + 1);
  while (text[at] !== "}") {
    const nameEnd = valueEnd(text, at);
    const start = space(text, space(text, nameEnd) + 1);
    const end = valueEnd(text, start);
    yield [JSON.parse(text.slice(at, nameEnd)) as string, start, end];
    at = next(text, end);
  }
}

function* items(text: string, open: number): Generator<number> {
  let at = space(text, space(text, open) + 1);
  while (text[at] !== "]") {
    yield at;
    at = next(text, valueEnd(text, at));
  }
}

/** Past a comma, or at the closing bracket. */
function next(text: string, end: number): number {
  const at = space(text, end);
  return text[at] === "," ? space(text, at + 1) : at;
}

function space(text: string, at: number): number {
  while (at < text.length && " \t\n\r".includes(text[at] as string)) at += 1;
  return at;
}

function valueEnd(text: string, at: number): number {
  const first = text[at];
  if (first === '"') return stringEnd(text, at);
  if (first !== "{" && first !== "[") {
    while (at < text.length && !" \t\n\r,]}:".includes(text[at] as string)) at += 1;
    return at;
  }
  let depth = 0;
  do {
    const mark = text[at];
    if (mark === '"') {
      at = stringEnd(text, at);
      continue;
    }
    if (mark === "{" || mark === "[") depth += 1;
    if (mark === "}" || mark === "]") depth -= 1;
    at += 1;
  } while (depth > 0 && at < text.length);
  return at;
}

function stringEnd(text: string, at: number): number {
  for (at += 1; at < text.length && text[at] !== '"'; at += 1) {
    if (text[at] === "\\") at += 1;
  }
  return at + 1;
}
