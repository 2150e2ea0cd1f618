import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../src/cli/commands.ts";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { formats } from "../../src/data/files/formats.ts";

const read = (path: string) => Deno.readTextFileSync(join(PROJECT_FOLDER, path));
const pages = [...Deno.readDirSync(join(PROJECT_FOLDER, "docs"))]
  .filter(({ name }) => name.endsWith(".md")).map(({ name }) => `docs/${name}`);

Deno.test("README: at most 200 lines, with a link to every page", () => {
  const readme = read("README.md");
  assert.ok(readme.split("\n").length <= 200);
  for (const page of pages) assert.ok(readme.includes(`](${page})`), page);
});

Deno.test("pages: what they link to is there", () => {
  for (const page of ["README.md", ...pages]) {
    const folder = page.startsWith("docs/") ? "docs" : ".";
    for (const [, target] of read(page).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
      assert.ok(Deno.statSync(join(PROJECT_FOLDER, folder, target)), `${page}: ${target}`);
    }
  }
});

Deno.test("pages: files that they name in code are there", () => {
  for (const page of ["README.md", ...pages]) {
    for (
      const [, path] of read(page).matchAll(/`((?:src|tests|configs|bench|docs)\/[\w./-]+\.\w+)`/g)
    ) {
      assert.ok(Deno.statSync(join(PROJECT_FOLDER, path)), `${page}: ${path}`);
    }
  }
});

Deno.test("docs/commands.md names every command", () => {
  const page = read("docs/commands.md");
  for (const name of Object.keys(COMMANDS)) assert.ok(page.includes(`\`${name}\``), name);
});

Deno.test("docs/data.md names every published format", () => {
  const page = read("docs/data.md");
  for (const { name } of formats) assert.ok(page.includes(`\`${name}\``), name);
});
