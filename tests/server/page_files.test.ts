import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundlePage, pageFiles } from "../../src/server/page_files.ts";
import { withFolder } from "./written_run.ts";

const folder = fileURLToPath(new URL("../../src/server/page/", import.meta.url));

Deno.test("page files: the page, and every file that it names, are there", () => {
  const page = pageFiles().get("/");
  const html = new TextDecoder().decode(page?.contents);
  const named = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address);
  assert.deepEqual(["/", ...named].sort(), [...pageFiles().keys()].sort());
  assert.deepEqual(named.map((address) => pageFiles().get(address)?.type.split(";")[0]), [
    ...["image/svg+xml", "text/css", "text/javascript", "text/javascript"],
  ]);
});

Deno.test("page files: no module inserts text as markup", () => {
  const modules = (inside: string): string[] =>
    [...Deno.readDirSync(inside)].flatMap(({ name, isDirectory }) =>
      isDirectory ? modules(join(inside, name)) : /\.tsx?$/.test(name) ? [join(inside, name)] : []
    );
  const paths = modules(folder);
  assert(paths.length > 30);
  for (const path of paths) {
    // A problem, a solution or a run's name may be anything.
    assert.doesNotMatch(
      Deno.readTextFileSync(path),
      /innerHTML|outerHTML|insertAdjacent|setInnerHTML|document\.write/,
    );
  }
});

Deno.test("page files: a page that cannot be bundled is one message that names the line", async () => {
  await withFolder((broken) => {
    for (const name of ["index.html", "icon.svg", "theme.ts", "main.css"]) {
      Deno.writeTextFileSync(join(broken, name), "");
    }
    Deno.writeTextFileSync(join(broken, "main.tsx"), 'import "./none.ts";\n');
    assert.throws(() => bundlePage(broken), {
      status: 500,
      message:
        /^The page cannot be bundled\. .*\nmain\.tsx:1:7: ERROR: Could not resolve "\.\/none/,
    });
  });
});
