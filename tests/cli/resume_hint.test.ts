import assert from "node:assert/strict";
import { join } from "node:path";
import { howToGoOn, withResumeHint } from "../../src/cli/resume_hint.ts";
import { GpuFailure } from "../../src/gpu/gpu_failure.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";

Deno.test("resume hint: none for a run that has left no folder to go on from", async () => {
  const parent = Deno.makeTempDirSync();
  try {
    const folder = RunFolder.at(join(parent, "run"));
    const fail = () =>
      withResumeHint("train", folder, () => Promise.reject(new GpuFailure("The GPU was lost.")));
    await assert.rejects(fail(), { message: "The GPU was lost." });
    RunFolder.create(folder.path, {});
    await assert.rejects(fail(), { message: /lost\.\nThere is no checkpoint yet.* --resume$/ });
    assert.match(howToGoOn("sft", folder), /\.\/tango sft --run \S+ --resume$/);
  } finally {
    Deno.removeSync(parent, { recursive: true });
  }
});
