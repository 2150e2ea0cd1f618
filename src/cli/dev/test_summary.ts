/** What `deno test` counted. */
export interface TestSummary {
  readonly passed: number;
  readonly failed: number;
}

/** Finds the last summary line of `deno test` in its output; null when there is none. */
export function readTestSummary(output: string): TestSummary | null {
  // deno-lint-ignore no-control-regex
  const plain = output.replace(/\x1b\[[0-9;]*m/g, "");
  const pattern = /^(?:ok|FAILED) \| (\d+) passed(?: \([^)]*\))? \| (\d+) failed/gm;
  const match = [...plain.matchAll(pattern)].at(-1);
  return match === undefined ? null : { passed: Number(match[1]), failed: Number(match[2]) };
}
