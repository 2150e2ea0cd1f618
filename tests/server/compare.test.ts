/** A comparison that is started and followed over HTTP. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { parse } from "yaml";
import { Gpu } from "../../src/gpu/gpu.ts";
import { comparisonFiles, writeSeeds } from "../../src/run/compare/comparison_folder.ts";
import { RunEndpoint } from "../../src/run/control/endpoint/run_endpoint.ts";
import { RunControl } from "../../src/run/control/run_control.ts";
import { RunEvents } from "../../src/run/events/run_events.ts";
import { withTinyProject } from "../run/tiny_project.ts";
import { withServer } from "./client.ts";
import { WrittenRun } from "./written_run.ts";

Deno.test({
  name:
    "compare: started over HTTP with its seeds, its runs are runs, and its table is that of compare.md",
  // The GPU outlives its closing by a few timers, and a child is let go on purpose.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const gpu = await Gpu.open("auto");
    await withTinyProject(gpu, async (project) => {
      const configuration = parse(Deno.readTextFileSync(project.config));
      await withServer(async (client, root) => {
        const asked = { kind: "compare", configuration, steps: 2, seeds: [3, 5], run: "both" };
        const { status, answer } = await client.send("POST", "/api/runs", asked);
        assert.equal(status, 202, JSON.stringify(answer));
        const read = async (path: string) => (await client.send("GET", path)).answer;

        // Its first run goes on as a run of its own, and is steered with the others.
        const first = "both:tango-seed-3";
        const viewOf = async (id: string) => await read(`/api/runs/${id}`);
        let view = await viewOf(first);
        while (view.step === undefined || view.step < 1) view = await viewOf(first);
        assert.deepEqual([view.kind, view.comparison, view.totalSteps], ["train", "both", 2]);
        for (const path of ["pause", "kill", "resume"]) {
          const refused = await client.send("POST", `/api/runs/${first}/${path}`);
          assert.equal(refused.status, 409);
          assert.match(refused.answer.detail, /comparison both/);
        }

        const done = await client.until("both", "finished");
        assert.deepEqual([done.kind, done.step, done.totalSteps], ["compare", 6, 6]);
        const expected = [3, 5].flatMap((seed) =>
          ["tango", "alone", "frozen-verifier"].map((method) => `both:${method}-seed-${seed}`)
        );
        let { runs, table } = await read("/api/runs/both/comparison");
        assert.deepEqual(runs.map(({ id }: { id: string }) => id), expected);
        assert.deepEqual(runs.map(({ seed }: { seed: number }) => seed), [3, 3, 3, 5, 5, 5]);
        const finished = async () => {
          const { runs } = await read("/api/runs");
          return runs.filter(({ comparison, state }: { comparison: string; state: string }) =>
            comparison === "both" && state === "finished"
          ).length;
        };
        while (await finished() < expected.length) await new Promise((go) => setTimeout(go, 50));
        ({ table } = await read("/api/runs/both/comparison"));
        // As the command line has written it.
        const report = Deno.readTextFileSync(join(root, "both", "compare.md"));
        const percent = (value: number) => (100 * value).toFixed(1);
        assert.equal(table.length, 4);
        for (const { name, runs, generatorAccuracy: { mean, deviation } } of table) {
          const row = report.split("\n").find((line) => line.startsWith(`| ${name} `)) ?? "";
          assert.ok(row.includes(`${percent(mean)} ± ${percent(deviation)} %`), `${name}: ${row}`);
          assert.equal(runs, name === "warm start" ? 6 : 2);
        }
        const { efficiency: { baseline, jobs, arms: sooner } } = await read(
          "/api/runs/both/comparison",
        );
        assert.deepEqual([baseline, jobs], ["tango", 1]);
        const section = report.split("## To the final accuracy of tango")[1];
        assert.deepEqual(
          sooner.map(({ name }: { name: string }) => name),
          ["alone", "frozen-verifier"],
        );
        for (const { name, pairs, reached } of sooner) {
          const row = section.split("\n").find((line) => line.startsWith(`| ${name} `)) ?? "";
          assert.ok(row.includes(`${reached} of ${pairs}`), `${name}: ${row}`);
          assert.equal(pairs, 2);
        }
        const { series } = await read(`/api/runs/${first}/metrics?names=generator/reward`);
        assert.ok(series["generator/reward"].some((value: number | null) => value !== null));
        assert.deepEqual((await read(`/api/runs/${first}/config`)).changeable, {});
        const { ranks } = await read(`/api/runs/${first}/timeline`);
        assert.equal(ranks.length, 1);

        // What starts it again has its seeds; of arms of its own only the command line knows.
        const request = () => client.send("GET", "/api/runs/both/request");
        assert.deepEqual((await request()).answer.seeds, [3, 5]);
        const { arms } = comparisonFiles(join(root, "both"));
        const shipped = Deno.readTextFileSync(arms);
        Deno.writeTextFileSync(arms, "arms: { tango: {} }");
        const refused = await request();
        assert.equal(refused.status, 409);
        assert.match(refused.answer.detail, /--arms/);
        Deno.writeTextFileSync(arms, shipped);

        // Another seed is added to what is there.
        const added = await client.send("POST", "/api/runs/both/resume", { seeds: [3, 5, 8] });
        assert.equal(added.status, 202, JSON.stringify(added.answer));
        while ((await viewOf("both")).totalSteps !== 9) {
          await new Promise((go) => setTimeout(go, 50));
        }
        await client.act("both", "kill");
        await client.until("both", "killed");
        assert.equal((await client.send("DELETE", "/api/runs/both")).status, 204);
        while ((await client.send("GET", `/api/runs/${first}`)).status !== 404);
      }, [project.folder, "configs", "weights"]);
    });
    gpu.close();
  },
});

Deno.test({
  name:
    "compare: seeds that are wrong, or of another kind of run, are a problem that names the field",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withServer(async (client) => {
      const refused = async (body: object, field: string, words: RegExp) => {
        const { status, answer } = await client.send("POST", "/api/runs", body);
        assert.equal(status, 422, JSON.stringify(answer));
        assert.equal(answer.field, field);
        assert.match(answer.detail, words);
      };
      await refused({ kind: "train", seeds: [1] }, "seeds", /comparison/);
      await refused({ kind: "sft", seeds: [1] }, "seeds", /comparison/);
      await refused({ kind: "compare", seeds: [1, 2, 1] }, "seeds", /different/);
      await refused({ kind: "compare", seeds: [2 ** 32] }, "seeds[0]", /./);
      await refused({ kind: "compare", seeds: [] }, "seeds", /./);
      await refused({ kind: "compare", ranks: 2 }, "ranks", /one GPU/);
    }),
});

Deno.test({
  name: "compare: what ends a comparison ends the run that it did, and no other",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withServer(async (client, root) => {
      const comparison = new WrittenRun(root, "both");
      writeSeeds(comparison.folder.path, [3]);
      const inner = (name: string) => new WrittenRun(comparison.folder.path, name);
      const tell = (run: WrittenRun, place: number) => {
        const { path } = run.folder;
        comparison.event({ type: "comparedRun", method: "m", seed: 3, path, place, total: 3 });
        run.event({ type: "started", step: 0, total: 2, ranks: 1 });
        comparison.event({ type: "started", step: 0, total: 2, ranks: 1 });
        for (const one of [run, comparison]) {
          one.event({ type: "step", step: 1, phase: "generator" });
        }
      };
      const [first, second] = [inner("tango-seed-3"), inner("alone-seed-3")];
      tell(first, 1);
      for (const one of [first, comparison]) {
        one.event({ type: "finished", step: 2, reachedEnd: true });
      }
      tell(second, 2);
      const states = async () => {
        const ids = ["both", "both:tango-seed-3", "both:alone-seed-3"];
        const answers = ids.map((id) => client.send("GET", `/api/runs/${id}`));
        return (await Promise.all(answers)).map(({ answer }) => answer.state);
      };
      const until = async (...expected: string[]) => {
        while (`${await states()}` !== `${expected}`) await new Promise((go) => setTimeout(go, 20));
      };
      // Nobody runs it, and it has said no last word.
      await until("lost", "finished", "lost");
      const { answer } = await client.send("GET", "/api/runs/both");
      assert.deepEqual([answer.kind, answer.step, answer.totalSteps], ["compare", 1, 3]);
      // The test itself runs it.
      {
        const events = new RunEvents();
        using endpoint = new RunEndpoint(new RunControl(), events);
        endpoint.open(comparison.folder, { budgetBytes: 9000, reservedBytes: 700, peakBytes: 650 });
        await new Promise((resolve) => setTimeout(resolve, 5));
        tell(second, 2);
        await until("running", "finished", "running");
      }
      for (const one of [second, comparison]) {
        one.event({ type: "failed", step: 1, message: "lost device" });
      }
      await until("failed", "finished", "failed");
    }),
});
