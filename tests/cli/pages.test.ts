/** Every command line and configuration key that README and docs name is one that the program takes. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { Command } from "commander";
import { parse } from "yaml";
import { merged } from "../../src/base/merged.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { changeableSftKeys, changeableTangoKeys } from "../../src/run/config/changeable.ts";
import { keyPaths } from "../../src/run/config/config_problem.ts";
import { tangoConfigSchema } from "../../src/run/config/config_schema.ts";
import {
  loadSftConfig,
  loadTangoConfig,
  loadTeacherConfig,
} from "../../src/run/config/load_config.ts";
import { placementOf, withShards } from "../../src/run/config/placement.ts";
import { sftConfigSchema } from "../../src/run/config/sft_config_schema.ts";
import { PAIRS } from "../grading/pairs.ts";
import { runCaptured } from "./run_captured.ts";

const read = (path: string) => Deno.readTextFileSync(join(PROJECT_FOLDER, path));
const pages = [
  "README.md",
  ...[...Deno.readDirSync(join(PROJECT_FOLDER, "docs"))]
    .filter(({ name }) => name.endsWith(".md")).map(({ name }) => `docs/${name}`),
];

/** Texts of a page's code blocks of a kind. */
const blocks = (page: string, kind: string) =>
  [...read(page).matchAll(new RegExp(`^\`\`\`${kind}\\n(.*?)^\`\`\``, "gms"))].map(([, text]) =>
    text
  );

/** The words of a command line as a shell would give them, up to a comment. */
function shellWords(line: string): string[] {
  const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|(#.*$)|([^\s'"]+)/g)];
  return words.filter(([, , , comment]) => comment === undefined)
    .map(([, single, double, , plain]) => single ?? double ?? plain);
}

/** What pages tell a user to type, with the page: in blocks, and in sentences where nothing is left open. */
function commandLines(): [page: string, words: string[]][] {
  return pages.flatMap((page) => {
    const typed = blocks(page, "sh").flatMap((text) =>
      text.replaceAll(/\\\n\s*/g, "").split("\n").filter((line) => line.startsWith("./tango "))
        .concat(
          // Under a cluster's launcher, which says how many ranks there are.
          [...text.matchAll(/^(?:mpirun|mpiexec|srun) .*?(\.\/tango .*)$/gm)].map((
            [line, command],
          ) => command.replace(/ +#.*/, "") + ` --ranks ${/ -n (\d+) /.exec(line)?.[1] ?? 2}`),
        )
    );
    const named = [...read(page).matchAll(/`(\.\/tango [^`<…]*)`/g)].map(([, line]) => line)
      .filter((line) => !/ (?:N|FOLDER)\b/.test(line));
    return [...typed, ...named].map((
      line,
    ): [string, string[]] => [page, shellWords(line).slice(1)]);
  });
}

interface Options {
  readonly config?: string;
  readonly set?: readonly string[];
  readonly steps?: number;
  readonly resume?: boolean;
  readonly ranks?: number;
}

/** Parses a command line as the program does, without doing what it says. */
async function parsed([name, ...args]: readonly string[]): Promise<Options> {
  const program = new Command().exitOverride();
  (await COMMANDS[name].load()).register(program);
  const [command] = program.commands;
  command.exitOverride().configureOutput({ writeErr() {} }).action(() => {});
  await program.parseAsync([name, ...args], { from: "user" });
  return command.opts();
}

/** Refuses settings that the command would refuse. */
function checkSettings(name: string, { config, set = [], steps, resume, ranks }: Options): void {
  const isSft = name === "sft";
  if (resume) {
    const changeable = isSft ? changeableSftKeys : changeableTangoKeys;
    for (const setting of set) assert.ok(changeable.includes(setting.split("=")[0]), setting);
  } else if (config !== undefined && name === "generate") loadTeacherConfig(config, { set });
  else if (config !== undefined && isSft) loadSftConfig(config, { set, steps });
  else if (config !== undefined) {
    const loaded = loadTangoConfig(config, { set, steps });
    if (name === "train" && ranks !== undefined) placementOf(withShards(loaded, ranks), ranks);
  }
}

Deno.test("pages: every command line is one that the program takes", async () => {
  const lines = commandLines();
  assert.ok(lines.length > 25, `${lines.length} command lines`);
  for (const [page, words] of lines) {
    const said = `${page}: ./tango ${words.join(" ")}`;
    assert.ok(Object.hasOwn(COMMANDS, words[0]), said);
    try {
      // In a sentence a name alone is that of the command.
      if (words.length > 1) checkSettings(words[0], await parsed(words));
    } catch (error) {
      assert.fail(`${said}\n${(error as Error).message}`);
    }
  }
});

Deno.test("help: every example is a command line that the program takes", async () => {
  for (const name of Object.keys(COMMANDS).filter((name) => name !== "bench")) {
    const { printed } = await runCaptured(COMMANDS, [name, "--help"]);
    const examples = [...printed.matchAll(/^ {2}deno task (.*)$/gm)].map(([, line]) => line);
    assert.ok(examples.length > 0, name);
    for (const line of examples) {
      try {
        checkSettings(name, await parsed(shellWords(line)));
      } catch (error) {
        assert.fail(`deno task ${line}\n${(error as Error).message}`);
      }
    }
  }
});

Deno.test("pages: every key that they name is one of a schema", () => {
  const keys = new Set([...keyPaths(tangoConfigSchema), ...keyPaths(sftConfigSchema)]);
  const sections = new Set([...keys].map((key) => key.split(".")[0]));
  let found = 0;
  for (const page of pages) {
    for (const [, key] of read(page).matchAll(/`([a-z_]+(?:\.[a-z_]+)+)(?:[=:][^`]*)?`/g)) {
      const isFile = /\.(md|ts|yaml|jsonl)$/.test(key);
      if (isFile || !sections.has(key.split(".")[0])) continue;
      assert.ok(keys.has(key), `${page}: ${key}`);
      found++;
    }
  }
  assert.ok(found > 30, `${found} keys`);
});

Deno.test("pages: their pieces of configuration are what a configuration may hold", () => {
  const models = { generator: { model: "g" }, verifier: null };
  // What names an `apiVersion` is Kubernetes' and not a configuration.
  const pieces = pages.flatMap((page) => blocks(page, "yaml")).map((text) => parse(text))
    .filter((piece) => !("apiVersion" in piece));
  assert.ok(pieces.length > 0);
  for (const { arms, ...piece } of pieces) {
    // What names a policy is a fine-tuning's.
    if ("policy" in piece) sftConfigSchema.parse(piece);
    else tangoConfigSchema.parse({ ...models, ...piece });
    // Arms are changes of a configuration, but for their steps.
    for (const { steps: _, ...patch } of Object.values<Record<string, unknown>>(arms ?? {})) {
      tangoConfigSchema.parse(merged({ ...models, verifier: { model: "v" } }, patch));
    }
  }
});

Deno.test("docs/data.md gives the number of pairs of answers that are tested", () => {
  const count = Object.values(PAIRS).reduce((sum, pairs) => sum + pairs.length, 0);
  assert.match(read("docs/data.md"), new RegExp(`lists ${count} pairs`));
});
