/** Commands that sample plan their memory: what does not fit is refused before any is taken. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../src/cli/commands.ts";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { gpuOf } from "../kernels/harness.ts";
import { type TinyProject, withTinyProject } from "../run/tiny_project.ts";
import { watchingGpus } from "./opened_gpu.ts";
import { runCaptured } from "./run_captured.ts";

/** Runs a command. @returns what its GPU's memory was planned to be and was at most, too */
async function run(args: readonly string[]) {
  const opened: Gpu[] = [];
  const result = await watchingGpus(
    (gpu) => opened.push(gpu),
    () => runCaptured(COMMANDS, args),
  );
  const [{ pool }] = opened;
  return { ...result, planned: pool.budgetBytes, taken: pool.peakBytes };
}

/**
 * The command takes what it plans; with less it is refused, and with the settings named then it runs.
 *
 * @param least share of the plan that it takes
 * @param again the command that runs with less
 */
async function checkLimits(
  args: readonly string[],
  limit: (gigabytes: number) => readonly string[],
  least: number,
  again = args,
): Promise<void> {
  const free = await run(args);
  const shares = `${args}\n${free.taken} taken, ${free.planned} planned\n${free.printed}`;
  assert.equal(free.code, 0, shares);
  assert.ok(free.taken <= free.planned && free.taken >= least * free.planned, shares);

  const less = limit(0.85 * free.planned / 1e9);
  const refused = await run([...args, ...less]);
  assert.equal(refused.code, 2, refused.printed);
  assert.equal(refused.taken, 0, "nothing was allocated");
  const [, changes] = refused.printed.match(/may be taken \(.*\)\. It fits, with .*, with: (.*)/) ??
    assert.fail(refused.printed);
  const smaller = await run([...again, ...less, ...changes.trim().split(" ")]);
  assert.equal(smaller.code, 0, smaller.printed);

  const hopeless = await run([...args, ...limit(1e-6)]);
  assert.equal(hopeless.code, 2, hopeless.printed);
  assert.match(hopeless.printed, /The smallest settings take .* or a smaller model\./);
}

const byOption = (gigabytes: number) => ["--memory-limit", `${gigabytes}`];
const byKey = (gigabytes: number) => ["--set", `memory_limit_gb=${gigabytes}`];

function testLimits(name: string, body: (project: TinyProject) => Promise<void>): void {
  Deno.test({
    name: `${name}: memory is planned, and the limit kept`,
    // A device keeps timers.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => await withTinyProject(await gpuOf("native"), body),
  });
}

testLimits("generate", async ({ generator }) => {
  const args = ["generate", "cat dog", "--model", generator, "--max-length", "100"];
  await checkLimits([...args, "--count", "40"], byOption, 0.9);
});

testLimits("eval", async ({ config, generator, verifier }) => {
  const common = ["eval", "--config", config, "--problems", "64"];
  // The plan does not count on it that prompts begin alike, and that this is computed once.
  const least = 0.5;
  await checkLimits([...common, "--model", generator], byKey, least);
  const judging = ["--policy", "verifier", "--model", verifier, "--generator", generator];
  await checkLimits(
    [...common, ...judging, "--set", "verifier.max_response_length=60"],
    byKey,
    least,
  );
});

testLimits("chat", async ({ generator }) => {
  const file = join(generator, "tokenizer_config.json");
  const settings = JSON.parse(Deno.readTextFileSync(file));
  const chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}";
  Deno.writeTextFileSync(file, JSON.stringify({ ...settings, chat_template }));
  const message = "what is it ".repeat(20);
  // Of the context of 100 tokens, the message fills 90.
  const args = (
    length: number,
  ) => ["chat", "--model", generator, "--max-length", "8", message.slice(0, length)];
  await checkLimits([...args(90), "--context", "100"], byOption, 0.8, args(20));
});
