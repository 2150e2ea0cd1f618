import assert from "node:assert/strict";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";

/** What a program prints to standard error, from JavaScript or from a library. */
async function standardError(program: string): Promise<string> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--node-modules-dir=manual", program],
    cwd: import.meta.dirname,
  }).output();
  const text = new TextDecoder().decode(stderr);
  assert.ok(success, text);
  return text;
}

const source = (file: string) => JSON.stringify(import.meta.resolve(`../../../src/${file}`));

Deno.test("Dawn opens a device without a word on standard error", async () => {
  const program = `
const { Gpu } = await import(${source("gpu/gpu.ts")});
const gpu = await Gpu.open("dawn");
gpu.close();
Deno.exit(0);`;
  assert.equal(await standardError(program), "");
});

Deno.test("generate on Dawn prints its answer, and nothing on standard error", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--allow-all", "--no-check", "--node-modules-dir=manual", "src/cli/main.ts"],
      ...["generate", "cat dog"],
      ...["--model", "weights/last-letter/generator", "--temperature", "0", "--gpu", "dawn"],
    ],
    cwd: PROJECT_FOLDER,
    stdin: "null",
  }).output();
  const [printed, complaints] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert.equal(code, 0, complaints);
  assert.equal(complaints, "");
  assert.match(printed, /^<think><step>cat:\w<\/step>.*<\/answer>/);
});

Deno.test("only the notices are kept back, in order, and standard error is restored", async () => {
  const notice = "Warning: maxDynamicStorageBuffersPerPipelineLayout artificially reduced from 9 " +
    "to 8 to fit dynamic offset allocation limit.\\n";
  const program = `
const { withoutDawnNotices } = await import(${source("platform/gpus/dawn_notices.ts")});
const write = (text) => Deno.stderr.writeSync(new TextEncoder().encode(text));
const result = withoutDawnNotices(() => { write("one\\n${notice}two\\n"); return 3; });
write(result + "\\n");
try {
  withoutDawnNotices(() => { write("${notice}four\\n"); throw new Error("five"); });
} catch (error) {
  write(error.message + "\\n${notice}");
}`;
  const text = await standardError(program);
  assert.equal(text, `one\ntwo\n3\nfour\nfive\n${notice.replace("\\n", "\n")}`);
});
