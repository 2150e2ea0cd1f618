import assert from "node:assert/strict";
import fc from "fast-check";
import { CASES, withAttacked } from "./attacked.ts";

const targets = [
  ...["secret.txt", "outside/secret.txt", "one/config.yaml", ".tango/index.sqlite", "etc/passwd"],
  ...["page_files.ts", "deno.json", "link.txt", "linked/secret.txt", "generator/model.bin", ""],
];

/** Ways to write `..`, `/` and `.`, of which no server may believe one. */
const up = ["..", "%2e%2e", ".%2e", "%252e%252e", "..%00", "..;", "...", "%c0%ae%c0%ae", "．．"];
const slash = ["/", "%2f", "%2F", "%252f", "\\", "%5c", "%c0%af", "//", "/./", "／"];
const places = [
  ...[
    "/",
    "/page/",
    "/page/vendor/",
    "/page/styles/",
    "/api/runs/",
    "/api/runs/one/",
    "/api/bench/",
  ],
  ...["/api/runs/one/checkpoints/1/files/", "/api/runs/one/checkpoints/2/files/", "//", "/\\"],
  ...["/api/runs/one/checkpoints/", "file:///", "http://evil.example/page/"],
];

const hostilePath = fc.tuple(
  fc.constantFrom(...places),
  fc.array(fc.tuple(fc.constantFrom(...up), fc.constantFrom(...slash)), { maxLength: 6 }),
  fc.constantFrom(...targets),
  fc.constantFrom(
    "",
    "",
    "%00",
    "%00.js",
    "%0d%0aX-Injected: 1",
    "?token=../",
    "#x",
    "/",
    "%",
    "%zz",
  ),
).map(([place, steps, target, end]) => place + steps.flat().join("") + target + end);

/** Anything that a connection takes for a request's target. */
const anyPath = fc.string({
  unit: fc.constantFrom(..."/%.\\:;?&=@~+*'\"<>{}|^`0aA[]üﬀ\u0001\u007f"),
})
  .map((text) => `/${text.replaceAll(" ", "")}`);

const methods = ["GET", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO"];

Deno.test("hostile: no path leads out of the folders, whatever the method and however it is written", async () => {
  await withAttacked(async ({ host, send, assertUntouched }) => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof({ weight: 4, arbitrary: hostilePath }, anyPath),
        fc.constantFrom(...methods),
        async (path, method) => {
          const { head } = await send(`${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
          assert.doesNotMatch(head, /^x-injected/im);
        },
      ),
      // The router's own pattern for all paths, as a path.
      { numRuns: 5 * CASES, examples: methods.map((method) => ["/*", method]) },
    );
    await assertUntouched();
  });
});

Deno.test("hostile: a checkpoint gives its own files, and none that its links lead to", async () => {
  await withAttacked(async ({ host, send }) => {
    const get = async (path: string) =>
      await send(`GET /api/runs/one/checkpoints/${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    const own = await get("1/files/generator/model.bin");
    assert.deepEqual([own.status, own.body], [200, "weights"]);
    const links = ["1/files/link.txt", "1/files/linked/secret.txt", "2/files/secret.txt"];
    for (const path of links) assert.equal((await get(path)).status, 404, path);
  });
});
