/** Two runs beside each other over HTTP. */

import assert from "node:assert/strict";
import { RunEndpoint } from "../../src/run/control/endpoint/run_endpoint.ts";
import { RunControl } from "../../src/run/control/run_control.ts";
import { RunEvents } from "../../src/run/events/run_events.ts";
import { writeSeeds } from "../../src/run/compare/comparison_folder.ts";
import { open } from "./client.ts";
import { writeRun, writeTwoRuns } from "./recorded_runs.ts";
import { withFolder, WrittenRun } from "./written_run.ts";

Deno.test({
  name:
    "difference: where two runs part, and what they went by; what cannot be told is one message",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withFolder(async (root) => {
      await writeTwoRuns(root);
      await writeRun(root, "warm", "again");
      const early = new WrittenRun(root, "early");
      early.event({ type: "started", step: 0, total: 2, ranks: 1 });
      const damaged = await writeRun(root, "warm", "damaged");
      Deno.writeTextFileSync(damaged.folder.audit, "no record\n", { append: true });
      writeSeeds(new WrittenRun(root, "both").folder.path, [3]);
      const { server, client } = open(root);
      await using _server = server;
      const names = ["warm", "cool", "again", "early", "damaged", "both"];
      for (const name of names) {
        while ((await client.send("GET", `/api/runs/${name}`)).status === 404);
      }
      const ask = (id: string, other: string) =>
        client.send("GET", `/api/runs/${id}/difference?other=${other}`);

      const { status, answer } = await ask("warm", "cool");
      assert.equal(status, 200, JSON.stringify(answer));
      const { parting, settings, inputs, surroundings, text, weights, lastStep } = answer;
      assert.deepEqual(settings, [{ key: "rollout.temperature", step: 0, a: 1, b: 0.9 }]);
      assert.deepEqual(inputs, []);
      assert.deepEqual(surroundings, [
        { what: "driver", a: "Mesa 1", b: "Mesa 2", isVisible: true },
      ]);
      assert.deepEqual(
        [parting.record.step, parting.part, parting.same, lastStep],
        [3, "solutions", ["problems"], 3],
      );
      // One response ends where the other goes on.
      assert.deepEqual(text, {
        ...{ sample: 2, of: "solution", token: 4, begin: 7 },
        ...{ a: { text: "The dog", end: 7 }, b: { text: "The dogs", end: 8 } },
      });
      assert.deepEqual(weights, {
        ...{ step: 3, model: "generator", tensor: "weights", element: 1 },
        ...{ a: "-0", b: "0", count: 2, size: 3 },
      });

      const same = (await ask("warm", "again")).answer;
      assert.deepEqual(
        [same.settings, same.surroundings, same.parting, same.text, same.weights, same.lastStep],
        [[], [], null, null, null, 3],
      );

      const refused = async (id: string, other: string, status: number, words: RegExp) => {
        const { status: found, answer } = await ask(id, other);
        assert.equal(found, status, JSON.stringify(answer));
        assert.match(answer.detail, words);
      };
      await refused("warm", "warm", 422, /the same as itself/);
      await refused("warm", "none", 404, /no run "none"/);
      await refused("warm", "both", 409, /is a comparison: name one of its runs/);
      await refused("early", "warm", 409, /The run early has no records/);
      await refused("warm", "damaged", 422, /audit\.jsonl:5 is damaged/);
      // The test itself runs it.
      using endpoint = new RunEndpoint(new RunControl(), new RunEvents());
      endpoint.open(early.folder, { budgetBytes: 9000, reservedBytes: 700, peakBytes: 650 });
      early.event({ type: "started", step: 0, total: 2, ranks: 1 });
      const state = async () => (await client.send("GET", "/api/runs/early")).answer.state;
      while (!["starting", "running"].includes(await state())) {
        await new Promise((go) => setTimeout(go, 20));
      }
      await refused("warm", "early", 409, /early has no record yet/);
    }),
});
