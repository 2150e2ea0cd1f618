/** What `deno test` counted. */
export interface TestSummary {
  readonly passed: number;
  readonly failed: number;
}

/** Finds the last summary line of `deno test` in its output; null when there is none. */
export function readTestSummary(output: string): TestSummary | null {
  const plain = withoutColours(output);
  const pattern = /^(?:ok|FAILED) \| (\d+) passed(?: \([^)]*\))? \| (\d+) failed/gm;
  const match = [...plain.matchAll(pattern)].at(-1);
  return match === undefined ? null : { passed: Number(match[1]), failed: Number(match[2]) };
}

/** Lines of an output that is not that of failed tests, of which the end says why a process ended. */
const LAST_LINES = 20;

/** What `deno test` says of its failed tests; of a process that ended otherwise, the last lines. */
export function readTestFailures(output: string): string {
  const plain = withoutColours(output).trimEnd();
  const errors = [...plain.matchAll(/^ ERRORS *$/gm)].at(-1);
  if (errors === undefined) return plain.split("\n").slice(-LAST_LINES).join("\n");
  const said = plain.slice(errors.index + errors[0].length);
  return said.replace(/^ FAILURES *$[^]*/m, "").trim();
}

function withoutColours(output: string): string {
  // deno-lint-ignore no-control-regex
  return output.replace(/\x1b\[[0-9;]*m/g, "");
}
