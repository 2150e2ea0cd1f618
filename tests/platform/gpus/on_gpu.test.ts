/** Each process holds the GPU it was given: two software adapters stand in for two identical cards. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { TwoAdapters } from "./two_adapters.ts";

const project = join(import.meta.dirname ?? "", "..", "..", "..");

/** Runs the command line with both adapters there. */
async function run(adapters: TwoAdapters, args: readonly string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", ...args],
    cwd: project,
    env: adapters.environment,
  }).output();
  const text = new TextDecoder();
  return { code, printed: text.decode(stdout) + text.decode(stderr) };
}

/** What each of two processes, side by side, holds after it asked for GPU 0 and 1. */
async function held(adapters: TwoAdapters, engine: string): Promise<string[]> {
  const outcomes = await Promise.all(
    [0, 1].map((index) =>
      run(adapters, ["tests/platform/gpus/held_gpu.ts", engine, String(index)])
    ),
  );
  for (const { code, printed } of outcomes) assert.equal(code, 0, printed);
  return outcomes.map(({ printed }) => printed.trim());
}

function testWithTwo(name: string, body: (adapters: TwoAdapters) => Promise<void>): void {
  Deno.test(name, async () => {
    using adapters = TwoAdapters.make();
    if (adapters === null) return console.log("there is no software driver to make two of");
    await body(adapters);
  });
}

testWithTwo(
  "two processes each hold the GPU they were given, on both engines",
  async (adapters) => {
    for (const engine of ["native", "dawn"]) {
      const [first, second] = await held(adapters, engine);
      assert.match(first, /^0 llvmpipe.*\(LLVM .* computes$/);
      assert.match(second, /^1 llvmpipe.*\(MVLL .* computes$/);
    }
  },
);

testWithTwo(
  "doctor lists GPUs, says which rank takes which, and what they share",
  async (adapters) => {
    const { code, printed } = await run(adapters, ["src/cli/main.ts", "doctor", "--ranks", "3"]);
    assert.equal(code, 0, printed);
    assert.match(printed, /GPU 0 +llvmpipe \(LLVM .*\n +GPU 1 +llvmpipe \(MVLL/);
    assert.match(
      printed,
      /rank 0 +GPU 0: .*LLVM.*\n +rank 1 +GPU 1: .*MVLL.*\n +rank 2 +GPU 0: .*LLVM/,
    );
    assert.match(printed, /- Ranks 0 and 2 share GPU 0: llvmpipe \(LLVM/);
    assert.doesNotMatch(printed, /cannot be chosen/);
  },
);

testWithTwo("a GPU that does not exist is the user's error", async (adapters) => {
  const generate = ["src/cli/main.ts", "generate", "cat dog", "--gpu-index", "2"];
  const model = ["--model", "weights/last-letter/generator"];
  const { code, printed } = await run(adapters, [...generate, ...model]);
  assert.equal(code, 2, printed);
  assert.match(printed, /no GPU 2 on this machine.*\n {2}GPU 0: .*LLVM.*\n {2}GPU 1: .*MVLL/);
  assert.doesNotMatch(printed, /\n\s+at /, "a user's error needs no stack trace");
});
