import assert from "node:assert/strict";
import fc from "fast-check";
import { CASES, withAttacked } from "./attacked.ts";

const asked = ["GET /api/runs", "GET /", "POST /api/runs/one/kill", "DELETE /api/runs/one"];
const label = fc.stringMatching(/^[a-z0-9-]{1,12}$/);

/** Names that are none of this machine's own, and what is no name. */
const lookAlike = fc.oneof(
  label.map((name) => `${name}.example`),
  label.map((name) => `127.0.0.1.${name}.example`),
  label.map((name) => `localhost.${name}`),
  label.map((name) => `${name}@127.0.0.1`),
  fc.constantFrom(
    "",
    "0.0.0.0",
    "127.0.0.2",
    "127.1",
    "2130706433",
    "0x7f000001",
    "[::]",
    "::1",
  ),
  fc.constantFrom("[::ffff:127.0.0.1]", "localhost.", "127.0.0.1.", "localhost:80:80", "a b"),
  fc.constantFrom("127.0.0.1,evil.example", "127.0.0.1 evil.example", "evil.example#127.0.0.1"),
  fc.constantFrom(
    "localhost/evil",
    "localhost\\evil",
    "%6cocalhost",
    "lοcalhost",
    "[",
    "]:",
    ":",
  ),
);

Deno.test("hostile: a name that a page made to lead here is not this server's", async () => {
  await withAttacked(async ({ host, send, assertUntouched }) => {
    const { port } = new URL(`http://${host}`);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...asked),
        lookAlike,
        fc.constantFrom("", `:${port}`),
        async (line, name, after) => {
          const { status } = await send(`${line} HTTP/1.1\r\nhost: ${name}${after}\r\n\r\n`);
          assert.ok([0, 400, 403].includes(status), `${status}`);
        },
      ),
      { numRuns: CASES },
    );
    const two = await send(`GET /api/runs HTTP/1.1\r\nhost: ${host}\r\nhost: evil.example\r\n\r\n`);
    assert.ok([0, 400, 403].includes(two.status));
    await assertUntouched();
  });
});

Deno.test("hostile: a page of another origin neither reads nor does anything", async () => {
  await withAttacked(async ({ host, send, assertUntouched }) => {
    const { port } = new URL(`http://${host}`);
    const origin = fc.oneof(
      label.map((name) => `http://${name}.example`),
      label.map((name) => `http://127.0.0.1:${port}.${name}.example`),
      fc.integer({ min: 1, max: 65535 }).filter((other) => String(other) !== port)
        .map((other) => `http://127.0.0.1:${other}`),
      fc.constantFrom("null", "", "file://", "http://localhost", `http://localhost:${port}`),
      fc.constantFrom(`http://user@${host}`, `http://${host}/`, `HTTP://${host}`, `ftp://${host}`),
      fc.constantFrom(
        `http://${host} http://evil.example`,
        "chrome-extension://abc",
        "http://[::1]",
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...asked), origin, async (line, from) => {
        const { status, head } = await send(
          `${line} HTTP/1.1\r\nhost: ${host}\r\norigin: ${from}\r\n\r\n`,
        );
        assert.equal(status, 403, from);
        assert.doesNotMatch(head, /access-control-/i);
      }),
      { numRuns: CASES },
    );
    await assertUntouched();
  });
});

Deno.test("hostile: what a form or a script of another site can send without asking does nothing", async () => {
  await withAttacked(async ({ host, send, assertUntouched }) => {
    const paths = [
      ...["/api/runs", "/api/plan", "/api/bench", "/api/verify", "/api/models/pull"],
      ...["pause", "go-on", "checkpoint", "stop", "kill", "resume"]
        .map((action) => `/api/runs/one/${action}`),
    ];
    const types = [
      ...["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"],
      ...["text/plain; application/json", "application/json-seq", "text/json", "json", "*/*", ";"],
    ];
    const bodies = [
      ...["", "{}", '{"kind":"train"}', "a=b", '{"a":"=x"}', "--x--", '{"id":"owner/name"}'],
      '{"kind":"train","steps":1,"run":"evil"}',
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...paths),
        fc.constantFrom(...types),
        fc.constantFrom(...bodies),
        // Some programs and old browsers say nothing of where they come from.
        fc.constantFrom("", "origin: null\r\n", "sec-fetch-site: cross-site\r\n"),
        async (path, type, body, from) => {
          // A run that has ended can be resumed by who sends nothing at all, from a terminal.
          fc.pre(!(path.endsWith("/resume") && body === "" && from === ""));
          const typed = type === "" ? "" : `content-type: ${type}\r\n`;
          const { status } = await send(
            `POST ${path} HTTP/1.1\r\nhost: ${host}\r\n${from}${typed}` +
              `content-length: ${body.length}\r\n\r\n${body}`,
          );
          assert.ok([403, 409, 415, 422].includes(status), `${path} ${type} ${status}`);
          assert.ok(status !== 422 || body === "", `${path} ${type} was read`);
        },
      ),
      { numRuns: 2 * CASES },
    );
    await assertUntouched();
  });
});

Deno.test("hostile: nothing but the token opens, wherever it is put", async () => {
  const token = "0123456789abcdefghij";
  await withAttacked(async ({ host, send, assertUntouched }) => {
    const wrong = fc.oneof(
      fc.nat({ max: token.length - 1 }).map((length) => token.slice(0, length)),
      fc.nat({ max: token.length - 1 }).map((place) =>
        token.slice(0, place) + "X" + token.slice(place + 1)
      ),
      fc.constantFrom("", " ", `${token}x`, ` x${token}`, token.toUpperCase(), "null", "undefined"),
      fc.constantFrom("*", ".*", "%", encodeURIComponent(`${token}\0`), `${token}, ${token}`),
      fc.stringMatching(/^[!-~]{0,30}$/),
    ).filter((text) => text.trim() !== token);
    const carried = (given: string) => [
      `authorization: Bearer ${given}`,
      `authorization: ${given}`,
      `authorization: Basic ${btoa(`:${given}`)}`,
      `cookie: tango_token=${given}`,
      `cookie: tango_token=; tango_token=${given}`,
      `x-token: ${token}`,
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(
          "GET /api/runs",
          "POST /api/runs/one/kill",
          "GET /metrics",
          "GET /openapi.json",
        ),
        wrong,
        fc.nat(),
        async (line, given, way) => {
          const ways = carried(given);
          const { status } = await send(
            `${line} HTTP/1.1\r\nhost: ${host}\r\n${ways[way % ways.length]}\r\n\r\n`,
          );
          assert.ok(status === 401 || status === 400, `${status} ${ways[way % ways.length]}`);
        },
      ),
      { numRuns: CASES },
    );
    await fc.assert(
      fc.asyncProperty(lookAlike, async (name) => {
        const { status } = await send(`GET /api/runs HTTP/1.1\r\nhost: ${name}\r\n\r\n`);
        assert.ok([0, 400, 401].includes(status), `${name} ${status}`);
      }),
      { numRuns: CASES },
    );
    // The page is open to all; what only seems to be the page is not.
    for (
      const path of [
        "/api/runs/one/../../../page/app.js",
        "/api/runs/one/checkpoints/1/files/../../../../../../..",
        "/api/runs#/../page/",
        "/page/../api/runs",
        "/page/%2e%2e/api/runs",
        "//page/",
        "http://127.0.0.1/page/app.js/../../api/runs",
      ]
    ) {
      const { status, body } = await send(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
      assert.ok([0, 400, 401, 404].includes(status) && !body.includes("one"), `${path} ${status}`);
    }
    for (const path of ["/api/runs?token=", "/page/?token=", "//?token=", "/?token="]) {
      const { head } = await send(
        `GET ${path}${path === "/?token=" ? "x" : token} HTTP/1.1\r\nhost: ${host}\r\n\r\n`,
      );
      assert.doesNotMatch(head, /set-cookie/i, path);
    }
    const opened = await send(
      `GET /api/runs HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n\r\n`,
    );
    assert.equal(opened.status, 200);
    await assertUntouched();
  }, { hostname: "0.0.0.0", token });
});
