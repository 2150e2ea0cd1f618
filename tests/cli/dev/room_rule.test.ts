import assert from "node:assert/strict";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";
import { checkFile, findRoomViolations, listImports } from "../../../src/cli/dev/room_rule.ts";

Deno.test("listImports: every form of import, with its line", () => {
  const source = `import one from "./one.ts";
import * as two from "../two.ts";
import three, {
  type Four,
} from "./three.ts";
import type { Five } from "./five.ts";
import "./six.ts";
export * from "./seven.ts";
export { eight } from './eight.ts';
import shader from "./nine.wgsl" with { type: "text" };
const ten = await import("./ten.ts");
export const text = "from";
`;
  assert.deepEqual(listImports(source).map(({ specifier, line }) => [line, specifier]), [
    [1, "./one.ts"],
    [2, "../two.ts"],
    [3, "./three.ts"],
    [6, "./five.ts"],
    [7, "./six.ts"],
    [8, "./seven.ts"],
    [9, "./eight.ts"],
    [10, "./nine.wgsl"],
    [11, "./ten.ts"],
  ]);
});

Deno.test("room rule: own room, earlier rooms and packages are allowed", () => {
  const source = `import { z } from "zod";
import { a } from "./a.ts";
import { b } from "../model/b.ts";
import { c } from "../gpu/c.ts";
`;
  assert.deepEqual(checkFile("src/rl/reward/rewards.ts", source), []);
  const error = `import { UserError } from "../base/user_error.ts";`;
  assert.deepEqual(checkFile("src/data/rows.ts", error), []);
});

Deno.test("room rule: what knows a system lies in src/platform", () => {
  const source = `import { join } from "node:path";
import { stat } from "../platform/files/files.ts";
// Deno.exit is said here, and "node:fs".
/** As \`Deno.exit\` does. */
const text = Deno.readTextFileSync("a"); // Deno.env
`;
  const found = (file: string) => checkFile(file, source).map(({ message }) => message);
  const message = (used: string) =>
    `src/gpu may not use ${used}: what knows Deno or node lies in src/platform`;
  assert.deepEqual(found("src/gpu/a.ts"), ['"node:path"', "Deno.readTextFileSync"].map(message));
  assert.equal(found("src/run/store/a.ts").length, 2);
  assert.deepEqual(found("src/run/control/a.ts"), []);
});

Deno.test("room rule: later rooms, the outside and too much for src/data are forbidden", () => {
  const messages = (file: string, source: string) =>
    checkFile(file, source).map(({ line, message }) => `${line} ${message}`);
  assert.deepEqual(messages("src/gpu/a.ts", `\nimport { b } from "../engine/b.ts";`), [
    "2 src/gpu may not import src/engine/b.ts: it imports only base, platform, random outside it",
  ]);
  assert.deepEqual(messages("src/data/a.ts", `import { b } from "../gpu/b.ts";`), [
    "1 src/data may not import src/gpu/b.ts: it imports only base, platform, random, grading outside it",
  ]);
  assert.deepEqual(messages("src/run/store/a.ts", `import { b } from "../config/b.ts";`), []);
  assert.deepEqual(messages("src/run/store/a.ts", `import { b } from "../tango/b.ts";`), [
    "1 src/run/store may not import src/run/tango/b.ts: of src/run it imports config, problems",
  ]);
  assert.deepEqual(messages("src/engine/training/a.ts", `import { b } from "../b.ts";`), [
    "1 src/engine/training may not import src/engine/b.ts: of src/engine it imports sampling",
  ]);
  assert.deepEqual(messages("src/gpu/a.ts", `import { b } from "../../bench/b.ts";`), [
    "1 src/gpu may not import bench/b.ts, which is outside the rooms",
  ]);
});

Deno.test("room rule: the project keeps it", () => {
  assert.deepEqual(findRoomViolations(PROJECT_FOLDER), []);
});
