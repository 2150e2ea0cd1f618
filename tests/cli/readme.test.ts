import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../src/cli/commands.ts";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { formats } from "../../src/data/files/formats.ts";
import { tangoConfigSchema } from "../../src/run/config/config_schema.ts";
import { sftConfigSchema } from "../../src/run/config/sft_config_schema.ts";

const readme = Deno.readTextFileSync(join(PROJECT_FOLDER, "README.md"));

/** Keys with the value each has by default, in the order of the schema. */
function flatten(value: object, prefix = ""): [key: string, value: unknown][] {
  return Object.entries(value).flatMap(([key, inner]): [string, unknown][] =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? flatten(inner, `${prefix}${key}.`)
      : [[prefix + key, inner]]
  );
}

Deno.test("README: its table holds every key of the configuration with its default", () => {
  const defaults = tangoConfigSchema.parse({
    generator: { model: "required" },
    verifier: { model: "required" },
  });
  const [, section] = readme.split("\n## Configuration\n");
  const rows = new Map(
    [...section.split("\n## ")[0].matchAll(/^\| `([a-z_.]+)` *\| (.*?) *\|/gm)]
      .map(([, key, value]) => [key, value]),
  );
  rows.delete("verifier"); // the section as a whole
  const expected = flatten(defaults)
    .filter(([key]) => !key.startsWith("verifier.optimizer."));
  assert.deepEqual([...rows.keys()], expected.map(([key]) => key));
  for (const [key, value] of expected) {
    const shown = rows.get(key) ?? "";
    assert.ok(
      shown === String(value) || Number(shown) === value ||
        shown === `[${[value].flat().join(", ")}]`,
      `${key}: the README says ${shown}, the schema ${value}`,
    );
  }
});

Deno.test("README: its table of data holds every key with its default, and every format", () => {
  const entry = { path: "required" };
  const sft = sftConfigSchema.parse({
    policy: "generator",
    initial_model: "required",
    data: { train: [entry] },
  });
  const [, section] = readme.split("\n## Your own problems\n");
  const rows = new Map(
    [...section.split("\n## ")[0].matchAll(/^\| `data\.([a-z_]+)` *\| (.*?) *\|/gm)]
      .map(([, key, value]) => [key, value]),
  );
  const shown = Object.fromEntries(rows);
  const defaults = Object.entries({ ...sft.data, train: "required" })
    .map(([key, value]) => [key, Array.isArray(value) ? "[]" : String(value)]);
  assert.deepEqual(shown, Object.fromEntries(defaults));
  for (const { name } of formats) assert.ok(section.includes(`\`${name}\``), name);
});

Deno.test("README: names every command", () => {
  for (const name of Object.keys(COMMANDS)) assert.ok(readme.includes(`\`${name}\``), name);
});
