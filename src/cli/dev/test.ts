/**
 * `deno task test`: runs the tests, each file in a process of its own and several at a time, and ends with one plain
 * line, `N passed, N failed`.
 */

import type { Command } from "commander";
import { addExamples } from "../examples.ts";
import { Interrupt } from "../interrupt.ts";
import { parseCount } from "../run_options.ts";
import { driverThreads } from "../driver_threads.ts";
import { type JobResult, Lanes, type TestJob } from "./lanes.ts";
import { findTestFiles } from "./test_files.ts";
import { readTestFailures, readTestSummary } from "./test_summary.ts";

interface TestOptions {
  readonly filter?: string;
  readonly failFast?: boolean;
  readonly allEngines?: boolean;
  readonly jobs: number;
}

/** One more than there are cores, since some tests wait; more than four would fill a GPU's memory. */
const JOBS = Math.min(navigator.hardwareConcurrency + 1, 4);

/** Processes that begin together would queue, and say so, to see whether what this one uses is installed. */
const INSTALLED = "--node-modules-dir=manual";

/** What checks the types, once for all files: no process of tests does. */
const TYPES = "types";

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("test")
    .description("Runs all tests, or those of the files and folders named.")
    .argument("[paths...]", "test files or folders; `rl` means tests/rl")
    .option("--filter <text>", "only tests whose name contains this")
    .option("--fail-fast", "stop at the first failure")
    .option("--all-engines", "on Dawn too what otherwise runs on the native engine alone")
    .option("--jobs <number>", "files that run at the same time", parseCount, JOBS)
    .action(test);
  addExamples(command, {
    "deno task test": "all tests",
    "deno task test rl --filter parse": "the tests in tests/rl with `parse` in their name",
  });
}

async function test(paths: readonly string[], options: TestOptions): Promise<void> {
  const files = findTestFiles(paths);
  const count = Math.min(options.jobs, files.length);
  const environment = environmentOf(count, options);
  const lanes = new Lanes(count, environment, (bytes) => Deno.stdout.writeSync(bytes));
  let isInterrupted = false;
  using interrupt = new Interrupt(() => {
    isInterrupted = true;
    void lanes.end();
  }, ["SIGINT", "SIGTERM"]);

  const total = { passed: 0, failed: 0 };
  const failures: JobResult[] = [];
  await lanes.run(jobsOf(files, options), (result) => {
    const { passed, failed } = countOf(result);
    total.passed += passed;
    total.failed += failed;
    if (failed === 0) return;
    failures.push(result);
    if (options.failFast) void lanes.end();
  });
  if (isInterrupted) {
    Deno.exitCode = interrupt.exitCode;
    return;
  }
  // Again, since what is kept of a long output is often its end.
  for (const { name, output, code } of failures) {
    console.log(`failed: ${name} (exit code ${code})`);
    if (files.length > 1) console.log(`${readTestFailures(output).replace(/^(?=.)/gm, "  ")}\n`);
  }
  console.log(`${total.passed} passed, ${total.failed} failed`);
  if (total.failed > 0) Deno.exitCode = 1;
}

function jobsOf(files: readonly string[], { filter, failFast }: TestOptions): TestJob[] {
  const args = ["test", "--allow-all", "--no-check", INSTALLED];
  if (filter !== undefined) args.push("--filter", filter);
  if (failFast) args.push("--fail-fast");
  return [
    { name: TYPES, args: ["check", "--quiet", ...files] },
    ...files.map((file) => ({ name: file, args: [...args, file] })),
  ];
}

function environmentOf(lanes: number, { allEngines }: TestOptions): Record<string, string> {
  return {
    ...driverThreads(lanes),
    ...(allEngines ? { TANGO_TEST_ENGINES: "all" } : {}),
    ...(Deno.stdout.isTerminal() ? { FORCE_COLOR: "1" } : {}),
  };
}

/** A file that cannot be loaded and one that leaks resources fail without a failed test. */
function countOf({ name, output, code }: JobResult): { passed: number; failed: number } {
  const { passed, failed } = (name === TYPES ? null : readTestSummary(output)) ??
    { passed: 0, failed: 0 };
  return { passed, failed: code !== 0 && failed === 0 ? 1 : failed };
}
