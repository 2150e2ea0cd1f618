import assert from "node:assert/strict";
import { CONFIGURATION_PAGE } from "../../../src/cli/dev/docs.ts";
import { configurationPage } from "../../../src/run/config/configuration_page.ts";

Deno.test("docs/configuration.md is what `./tango docs` writes", () => {
  assert.equal(Deno.readTextFileSync(CONFIGURATION_PAGE), configurationPage());
});

Deno.test("docs/configuration.md shows bounds, words and defaults of a key, and links its sections", () => {
  const page = configurationPage();
  assert.ok(page.includes("| `temperature` | `1` | a number, greater than 0 |"));
  assert.ok(page.includes("| `objective` | `ppo` | one of ppo, gspo, cispo |"));
  for (const [, anchor] of page.matchAll(/\]\(#([^)]+)\)/g)) {
    const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, text]) =>
      text.toLowerCase().replace(/[^\w -]/g, "").replaceAll(" ", "-")
    );
    assert.equal(headings.filter((heading) => heading === anchor).length, 1, anchor);
  }
});
