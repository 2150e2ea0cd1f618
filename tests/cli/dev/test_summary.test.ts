import assert from "node:assert/strict";
import { readTestFailures, readTestSummary } from "../../../src/cli/dev/test_summary.ts";

Deno.test("readTestSummary: plain, coloured, with steps and ignored tests", () => {
  assert.deepEqual(readTestSummary("\nok | 12 passed | 0 failed (3s)\n"), {
    passed: 12,
    failed: 0,
  });
  assert.deepEqual(
    readTestSummary(
      "\x1b[0m\x1b[31mFAILED\x1b[0m | 1 passed (1 step) | 2 failed (1 step) | 1 ignored (10ms)\n",
    ),
    { passed: 1, failed: 2 },
  );
});

Deno.test("readTestSummary: the last one counts, and text like it inside a line does not", () => {
  assert.deepEqual(
    readTestSummary(
      "ok | 1 passed | 0 failed\nok | 2 passed | 0 failed\n> ok | 3 passed | 0 failed",
    ),
    { passed: 2, failed: 0 },
  );
  assert.equal(readTestSummary("error: Type checking failed."), null);
});

Deno.test("readTestFailures: the failed tests' errors, or the end of what a process printed", () => {
  const failed = [
    "running 2 tests from ./tests/a.test.ts",
    "\x1b[0m\x1b[37m ERRORS \x1b[0m",
    "",
    "a sum => ./tests/a.test.ts:3:6",
    "\x1b[31merror\x1b[0m: AssertionError: 1 !== 2",
    "",
    " FAILURES ",
    "",
    "a sum => ./tests/a.test.ts:3:6",
    "",
    "FAILED | 1 passed | 1 failed (3ms)",
  ].join("\n");
  assert.equal(
    readTestFailures(failed),
    "a sum => ./tests/a.test.ts:3:6\nerror: AssertionError: 1 !== 2",
  );
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
  assert.equal(readTestFailures(lines.join("\n")), lines.slice(10).join("\n"));
});
