/** A server that is killed while clients train and save. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { startServer } from "../server_process.ts";
import { TINY } from "../openai/with_models.ts";
import { withFolder } from "../written_run.ts";
import type { TrainedModel } from "../../../src/client/trained_model.ts";
import { TrainingSession } from "../../../src/client/training_session.ts";

const KILLS = 3;
const DATA = [{ tokens: [1, 5, 9, 20], targets: [5, 9, 20, 31] }];

Deno.test({
  name:
    `killed: a server, ${KILLS} times, that comes back with every checkpoint that it has acknowledged`,
  // Requests that it was killed under are let go.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withFolder(async (root) => {
      const saved = new Map<string, Float32Array>();
      const start = () =>
        startServer(join(root, "runs"), 0, [
          ...["--model", `tiny=${TINY}`, "--checkpoints", join(root, "checkpoints")],
        ]);
      for (let kill = 0; kill <= KILLS; kill++) {
        const { url, child } = await start();
        const client = await TrainingSession.begin({ url });
        const response = await fetch(`${url}/api/v1/checkpoints?limit=1000`);
        const { checkpoints } = await response.json();
        const listed = checkpoints.map((one: { tinker_path: string }) => one.tinker_path);
        for (const [address, logProbs] of saved) {
          assert.ok(listed.includes(address), address);
          const model = await client.loadModel(address);
          assert.deepEqual((await model.forward(DATA)).logProbs[0], logProbs, address);
        }
        // What was written and not acknowledged is whole, too.
        for (const address of listed) await client.loadModel(address);
        if (kill === KILLS) {
          child.kill("SIGINT");
          assert.equal((await child.status).code, 0);
          break;
        }
        const training = train(await client.createModel("tiny", { seed: kill }), saved).catch(
          () => {},
        );
        const before = saved.size;
        while (saved.size === before) await pause(10);
        await pause(400 * Math.random());
        child.kill("SIGKILL");
        await child.status;
        await training;
      }
      assert.ok(saved.size >= KILLS);
    }),
});

async function train(model: TrainedModel, saved: Map<string, Float32Array>): Promise<never> {
  for (let step = 0;; step++) {
    await model.forwardBackward(DATA, "cross_entropy");
    await model.optimStep({ learningRate: 0.01 });
    const { logProbs } = await model.forward(DATA);
    saved.set(await model.save(`step-${step}`), logProbs[0]);
  }
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
