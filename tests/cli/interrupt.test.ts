import assert from "node:assert/strict";

const PROGRAM = `
import { Interrupt, INTERRUPTED_EXIT_CODE } from "${
  import.meta.resolve("../../src/cli/interrupt.ts")
}";
import { RunControl } from "${import.meta.resolve("../../src/run/control/run_control.ts")}";
const control = new RunControl();
using interrupt = new Interrupt(() => {
  console.log("stopping");
  control.stop();
});
console.log("ready");
for (let step = 0; step < 400; step++) {
  const end = performance.now() + 20;
  while (performance.now() < end); // a step that never waits
  await control.arrivals();
  if (!Deno.args.includes("deaf") && control.isStopRequested) {
    console.log("saved");
    Deno.exit(INTERRUPTED_EXIT_CODE);
  }
}
`;

/** Runs the program, sends SIGINT at each expected word, and gives its output and exit status. */
async function interrupted(
  args: string[],
  signalAfter: string[],
): Promise<{ output: string; code: number }> {
  const path = Deno.makeTempFileSync({ suffix: ".ts" });
  try {
    Deno.writeTextFileSync(path, PROGRAM);
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", path, ...args],
      stdout: "piped",
    }).spawn();
    let output = "";
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      output += chunk;
      while (signalAfter.length > 0 && output.includes(signalAfter[0])) {
        if (signalAfter.shift() === "stopping") await new Promise((done) => setTimeout(done, 400));
        child.kill("SIGINT");
      }
    }
    return { output, code: (await child.status).code };
  } finally {
    Deno.removeSync(path);
  }
}

Deno.test("interrupt: the first Ctrl-C lets the step finish and save, exit 130", async () => {
  assert.deepEqual(await interrupted([], ["ready"]), {
    output: "ready\nstopping\nsaved\n",
    code: 130,
  });
});

Deno.test("interrupt: one signal delivered twice counts once", async () => {
  const { output, code } = await interrupted([], ["ready", "ready"]);
  assert.equal(output, "ready\nstopping\nsaved\n");
  assert.equal(code, 130);
});

Deno.test("interrupt: a second Ctrl-C ends the process at once, exit 130", async () => {
  assert.deepEqual(await interrupted(["deaf"], ["ready", "stopping"]), {
    output: "ready\nstopping\n",
    code: 130,
  });
});
