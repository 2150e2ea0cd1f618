import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { pageFile } from "../../src/server/page_files.ts";

const page = fileURLToPath(new URL("../../src/server/page/", import.meta.url));

Deno.test("page files: the page, and every file that it names, are there", () => {
  const html = Deno.readTextFileSync(pageFile("/")?.path ?? "");
  const named = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address);
  assert(named.length > 5);
  for (const address of named) {
    const file = pageFile(address);
    assert(file !== null, address);
    assert(Deno.statSync(file.path).isFile, address);
  }
});

Deno.test("page files: every module that a module imports is served", () => {
  const seen = new Set<string>();
  const visit = (address: string) => {
    if (seen.has(address)) return;
    seen.add(address);
    const file = pageFile(address);
    assert(file !== null, address);
    const source = Deno.readTextFileSync(file.path);
    // A problem, a solution or a run's name may be anything: all of it is inserted as text.
    assert.doesNotMatch(source, /innerHTML|outerHTML|insertAdjacent|setInnerHTML|document\.write/);
    for (const [, specifier] of source.matchAll(/^(?:import|export)[^"';]*from "([^"]+)";/gm)) {
      visit(new URL(specifier, `http://page${address}`).pathname);
    }
  };
  visit("/page/main.js");
  assert(seen.size > 30);
});

Deno.test("page files: nothing else can be named", () => {
  const others = [
    "/page/",
    "/page/contract.ts",
    "/page/deno.json",
    "/page/../page_files.ts",
    "/page/%2e%2e/page_files.js",
    "/page/..%2fpage_files.js",
    "/page/.hidden.js",
    "/page/charts/../../../run.js",
    "/page//etc/passwd.js",
    "/page/vendor/preact.mjs",
    "/page/vendor/constructor",
    "/page/vendor/../main.js",
    "/page/main.js/",
    "/page/main.js\n",
    "/pagemain.js",
  ];
  for (const address of others) assert.equal(pageFile(address), null, address);
  assert.equal(pageFile("/page/main.js")?.path, `${page}main.js`);
});
