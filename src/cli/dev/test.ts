/** `deno task test`: runs the tests and ends with one plain line, `N passed, N failed`. */

import type { Command } from "commander";
import { join } from "node:path";
import { UserError } from "../../base/user_error.ts";
import { addExamples } from "../examples.ts";
import { PROJECT_FOLDER } from "./project.ts";
import { readTestSummary } from "./test_summary.ts";

interface TestOptions {
  filter?: string;
  failFast?: boolean;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("test")
    .description("Runs all tests, or those of the files and folders named.")
    .argument("[paths...]", "test files or folders; `rl` means tests/rl")
    .option("--filter <text>", "only tests whose name contains this")
    .option("--fail-fast", "stop at the first failure")
    .action(test);
  addExamples(command, {
    "deno task test": "all tests",
    "deno task test rl --filter parse": "the tests in tests/rl with `parse` in their name",
  });
}

async function test(paths: readonly string[], options: TestOptions): Promise<void> {
  const args = ["test", "--allow-all"];
  if (options.filter !== undefined) args.push("--filter", options.filter);
  if (options.failFast) args.push("--fail-fast");
  args.push(...(paths.length === 0 ? ["tests"] : paths.map(resolveTestPath)));
  const { output, code } = await runShowingOutput(args);
  const summary = readTestSummary(output);
  if (summary === null) {
    console.error(`deno test ended with exit code ${code} before it could count the tests.`);
  }
  const { passed, failed } = summary ?? { passed: 0, failed: 1 };
  // Files that do not compile and leaked resources fail the run without a failed test.
  const unexplained = code !== 0 && failed === 0 ? 1 : 0;
  console.log(`${passed} passed, ${failed + unexplained} failed`);
  if (code !== 0 || failed > 0) Deno.exitCode = 1;
}

function resolveTestPath(path: string): string {
  for (const candidate of [path, join("tests", path)]) {
    try {
      Deno.statSync(join(PROJECT_FOLDER, candidate));
      return candidate;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  throw new UserError(
    `There is no test file or folder ${path}. Name one below tests/, or search by name with --filter.`,
  );
}

/** Runs `deno <args>`, passing its output on as it comes and keeping its end. */
async function runShowingOutput(args: string[]): Promise<{ output: string; code: number }> {
  const child = new Deno.Command(Deno.execPath(), {
    args,
    cwd: PROJECT_FOLDER,
    env: Deno.stdout.isTerminal() ? { FORCE_COLOR: "1" } : {},
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const decoder = new TextDecoder();
  let output = "";
  for await (const bytes of child.stdout) {
    Deno.stdout.writeSync(bytes);
    output = (output + decoder.decode(bytes, { stream: true })).slice(-4096);
  }
  return { output, code: (await child.status).code };
}
