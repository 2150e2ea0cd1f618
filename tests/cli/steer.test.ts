import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../src/cli/commands.ts";
import type { Settings } from "../../src/run/config/changeable.ts";
import { RunEndpoint } from "../../src/run/control/endpoint/run_endpoint.ts";
import { RunControl } from "../../src/run/control/run_control.ts";
import { RunEvents } from "../../src/run/events/run_events.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { runCaptured } from "./run_captured.ts";

Deno.test("steer: a run that goes on hears what is typed, and says how far it is", async () => {
  const parent = Deno.makeTempDirSync();
  try {
    const folder = RunFolder.create(join(parent, "run"), {});
    const [control, events] = [new RunControl(), new RunEvents()];
    const steer = async (...args: string[]) => {
      const { code, printed } = await runCaptured(COMMANDS, [
        "steer",
        ...args,
        "--run",
        folder.path,
      ]);
      return [code, printed.replaceAll(folder.path, "RUN").trim()];
    };
    {
      using endpoint = new RunEndpoint(control, events);
      endpoint.open(folder, { budgetBytes: 0, reservedBytes: 0, peakBytes: 0 });
      assert.deepEqual(await steer("status"), [0, "RUN: it is loading"]);
      events.emit({ type: "started", step: 2, total: 9, ranks: 1 });
      assert.deepEqual(await steer("pause"), [
        0,
        "RUN: step 2 of 9 is done, it waits after its step",
      ]);
      assert(control.isPaused);
      assert.deepEqual(await steer("go-on"), [0, "RUN: step 2 of 9 is done"]);
      assert(!control.isPaused);
      await steer("checkpoint");
      assert(control.takeSave());
      const changed: Settings[] = [];
      {
        using _door = control.open((settings) => void changed.push(settings));
        await steer("change", "--set", "rollout.temperature=0.8");
      }
      assert.deepEqual(changed, [{ "rollout.temperature": 0.8 }]);
      assert.match(String((await steer("change"))[1]), /Say what is to change/);
      assert.match(String((await steer("pause", "--set", "a=1"))[1]), /--set is for change/);
      assert.equal((await steer("jump"))[0], 2);
      await steer("stop");
      assert(control.isStopRequested);
    }
    assert.deepEqual(await steer("status"), [
      2,
      "No process runs RUN at present; go on with it by --resume.",
    ]);
  } finally {
    Deno.removeSync(parent, { recursive: true });
  }
});
