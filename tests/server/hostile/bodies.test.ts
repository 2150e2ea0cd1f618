import assert from "node:assert/strict";
import fc from "fast-check";
import { CASES, exchange, withAttacked } from "./attacked.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

function request(
  line: string,
  host: string,
  body: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  const head = `${line} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n` +
    `content-length: ${body.length}\r\n\r\n`;
  const both = new Uint8Array(head.length + body.length);
  both.set(bytesOf(head));
  both.set(body, head.length);
  return both;
}

const lines = [
  ...["POST /api/runs", "POST /api/plan", "POST /api/bench", "POST /api/verify"],
  ...["POST /api/models/pull", "PATCH /api/runs/one/settings"],
];

const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

/** Each of them is wrong for every route. */
const broken = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => new Uint8Array([0xff, ...bytes])),
  fc.json({ maxDepth: 3 }).filter((text) => !/^\s*\{/.test(text)).map(bytesOf),
  fc.constantFrom(nested(5000), nested(100_000), objects(50_000)).map(bytesOf),
  fc.constantFrom("", "{", "}", "null", "[]", "NaN", "1e999", '"\\ud800"', "{}{}", "\ufeff{}x").map(
    bytesOf,
  ),
  fc.constantFrom('{"kind":', '{"kind":"train"', '{"a\u0000":1}', "'{}'", "{a:1}").map(bytesOf),
);

const hostileName = fc.constantFrom(
  ...[
    "../evil",
    "..",
    ".",
    ".tango",
    "a/b",
    "a\\b",
    "\u0000",
    "a\u0000b",
    "-rf",
    "",
    " ",
    "a b",
    "%2e%2e",
  ],
  ...["/etc/passwd", "one/../../x", "a".repeat(300), "ä", "\u202e", "\ud800", "CON", "a\nb"],
);
const hostilePath = fc.constantFrom(
  ...["/etc/passwd", "../../../../etc", "/proc/self/environ", "../outside", "/dev/zero", "~/.ssh"],
  ...["https://evil.example/x", "file:///etc/passwd", "\u0000", "configs/../../etc/passwd"],
);
const hugeNumber = fc.constantFrom(1e308, -1, 1e16, 0.5, -0, 2 ** 53, 1e400);

/** Whole requests, one field of each as no honest one would be. */
const hostile = fc.oneof(
  hostileName.map((run) => ["POST /api/runs", { kind: "train", run }]),
  hostileName.map((preset) => ["POST /api/runs", { kind: "train", preset }]),
  hostileName.map((kind) => ["POST /api/plan", { kind }]),
  hostilePath.map((model) => ["POST /api/runs", {
    kind: "train",
    preset: "last-letter",
    configuration: { generator: { model } },
  }]),
  hostilePath.map((path) => ["POST /api/runs", {
    kind: "train",
    preset: "last-letter",
    set: [`generator.model=${path}`],
  }]),
  hostilePath.map((module) => ["POST /api/runs", {
    kind: "train",
    preset: "last-letter",
    configuration: { rewards: { module } },
  }]),
  hugeNumber.map((ranks) => ["POST /api/runs", { kind: "train", ranks }]),
  hugeNumber.map((steps) => ["POST /api/runs", { kind: "train", steps, ranks: 1000 }]),
  hugeNumber.map((seconds) => ["POST /api/bench", { seconds: seconds * 1e9, gpu: "x" }]),
  // Without a slash, some are names on the Hub.
  hostileName.map((id) => ["POST /api/models/pull", { id: `../${id}` }]),
  hostilePath.map((id) => ["POST /api/models/pull", { id }]),
  hostileName.map((run) => ["POST /api/verify", { run, problem: "p" }]),
  fc.tuple(hostileName, hugeNumber).map((
    [name, value],
  ) => ["PATCH /api/runs/one/settings", { [name]: value }]),
  fc.object({ maxDepth: 3 }).map((configuration) => ["POST /api/runs", {
    kind: "train",
    preset: "last-letter",
    configuration: { ...configuration, no_such_key: 1 },
  }]),
) as fc.Arbitrary<[string, object]>;

Deno.test("hostile: no body that is broken or asks for what is not to be had does anything", async () => {
  await withAttacked(async ({ host, send, assertUntouched }) => {
    const refused = async (line: string, body: Uint8Array<ArrayBuffer>) => {
      const { status, body: answer } = await send(request(line, host, body));
      assert.ok([400, 404, 409, 413, 415, 422].includes(status), `${status} ${answer}`);
    };
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...lines), broken, refused),
      { numRuns: CASES },
    );
    await fc.assert(
      fc.asyncProperty(hostile, ([line, body]) => refused(line, bytesOf(JSON.stringify(body)))),
      { numRuns: 2 * CASES },
    );
    for (
      const text of [
        '{"kind":"train","kind":"x"}',
        '{"kind":"train","__proto__":{"preset":"x"}}',
        '{"__proto__":{"kind":"train"}}',
        '{"constructor":{"prototype":{"kind":"train"}}}',
        '{"kind":"train","preset":"last-letter","configuration":{"__proto__":{"a":1}}}',
        '{"kind":"train","preset":"last-letter","configuration":{"constructor":1}}',
      ]
    ) await refused("POST /api/runs", bytesOf(text));
    await assertUntouched();
    assert.equal(({} as Record<string, unknown>).preset, undefined);
  });
});

Deno.test("hostile: a body that is too large or of two lengths is not read", async () => {
  await withAttacked(async ({ address, host, send, assertUntouched }) => {
    const json = `host: ${host}\r\ncontent-type: application/json\r\n`;
    const post = (rest: string) => send(`POST /api/runs HTTP/1.1\r\n${json}${rest}`);
    assert.equal((await post(`content-length: ${1 << 30}\r\n\r\n{`)).status, 413);
    assert.equal((await post(`content-length: 1048577\r\n\r\n${" ".repeat(1048577)}`)).status, 413);
    const chunked = (parts: readonly string[]) => {
      const chunks = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`);
      return post(`transfer-encoding: chunked\r\n\r\n${chunks.join("")}`);
    };
    assert.equal((await chunked(["{}", ""])).status, 422);
    // Refused before it ends.
    assert.equal((await chunked(Array(17).fill(" ".repeat(1 << 16)))).status, 413);
    for (
      const lengths of [
        "content-length: 2\r\ncontent-length: 3",
        "content-length: -1",
        "content-length: x",
        "content-length: 99999999999999999999",
        "content-length: 2\r\ntransfer-encoding: chunked",
        "transfer-encoding: gzip, chunked",
        "transfer-encoding: chunked\r\ntransfer-encoding: identity",
      ]
    ) {
      const { status } = await post(`${lengths}\r\n\r\n{}`);
      assert.ok([0, 400, 413, 422].includes(status), `${lengths} ${status}`);
    }
    // A second request hidden in the body of the first.
    const hidden = `DELETE /api/runs/one HTTP/1.1\r\nhost: ${host}\r\n\r\n`;
    await exchange(
      address,
      `GET /healthz HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
    );
    await assertUntouched();
  });
});

Deno.test("hostile: headers many, long and strange are refused or passed over", async () => {
  await withAttacked(async ({ host, send, assertUntouched }) => {
    const get = (headers: string, path = "/api/runs") =>
      send(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n${headers}\r\n`);
    const many = Array.from({ length: 5000 }, (_, index) => `x-${index}: 1\r\n`).join("");
    assert.ok([0, 400, 431].includes((await get(many)).status));
    assert.ok([0, 400, 431].includes((await get(`x: ${"a".repeat(1 << 20)}\r\n`)).status));
    assert.ok([0, 400, 414].includes((await get("", `/${"a".repeat(1 << 20)}`)).status));
    const value = fc.stringMatching(/^[!-~ ]{0,60}$/);
    const header = fc.constantFrom(
      ...[
        "accept",
        "range",
        "if-none-match",
        "if-modified-since",
        "upgrade",
        "expect",
        "te",
        "cookie",
      ],
      ...[
        "x-forwarded-host",
        "x-forwarded-for",
        "forwarded",
        "x-http-method-override",
        "authorization",
      ],
    );
    await fc.assert(
      fc.asyncProperty(header, value, async (name, text) => {
        const { status } = await get(`${name}: ${text}\r\n`, "/api/runs/one");
        assert.ok([0, 200, 304, 400, 417].includes(status), `${name}: ${text} ${status}`);
      }),
      { numRuns: CASES },
    );
    const notNumbers = ["-1", "1.5", "1e3", "0x1", "9".repeat(16), "١", "1,2", "null", "\t"];
    for (const id of [...notNumbers, "1\r\nlast-event-id: 2"]) {
      const { status } = await get(`last-event-id: ${id}\r\n`, "/api/runs/one/events");
      assert.ok([400, 422].includes(status), `${id} ${status}`);
    }
    await assertUntouched();
  });
});

Deno.test("hostile: those who send slowly or never end keep nobody else waiting", async () => {
  await withAttacked(async ({ address, host, send, assertUntouched }) => {
    using slow = new DisposableStack();
    const begin = async (text: string) => {
      const connection = slow.use(await Deno.connect(address));
      await connection.write(bytesOf(text));
      return connection;
    };
    const json = `host: ${host}\r\ncontent-type: application/json\r\n`;
    for (let connection = 0; connection < 100; connection++) {
      await begin("GET /api/ru");
      await begin(`POST /api/runs HTTP/1.1\r\n${json}content-length: 1000\r\n\r\n{"kind":`);
    }
    const { status } = await send(`GET /api/runs HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    assert.equal(status, 200);
    await assertUntouched();
  });
});
