/** docs/scaling.md prints what the plan says. */

import assert from "node:assert/strict";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { predictionCells } from "../../../src/run/plan/format_prediction.ts";
import { loadGpuDescription } from "../../../src/run/plan/gpu_description.ts";
import { planRun } from "../../../src/run/plan/planned_policies.ts";
import { predict } from "../../../src/run/plan/prediction.ts";
import { withStandIns } from "../../../src/run/plan/stand_ins.ts";
import { optionsOf } from "./page_command.ts";

const page = Deno.readTextFileSync("docs/scaling.md");

/** The rows of the page's table of predictions, names and cells; some names come twice. */
function tableOf(head: string): string[][] {
  const lines = page.slice(page.indexOf(head)).split("\n");
  const rows = lines.slice(0, lines.findIndex((line) => !line.startsWith("|")));
  return rows.map((row) => row.split("|").slice(1, -1).map((cell) => cell.trim()));
}

Deno.test("docs/scaling.md: its predictions are the plan's", async () => {
  const [, command] = /```sh\n(\.\/tango plan --gpu h100 --ranks 8 --config configs\/tango[^`]*)```/
    .exec(page) ?? [];
  const options = optionsOf(command);
  const [head, , ...rows] = tableOf("| H100s, colocated");
  const gpu = loadGpuDescription("h100");
  const said = {
    problem: Number(options.get("--problem-tokens")),
    judgment: Number(options.get("--judgment-tokens")),
  };
  const ranks = Number(head[1]);
  const set = options.get("--set");
  const config = loadTangoConfig(String(options.get("--config")), { set });
  const rehearsal = Gpu.rehearsalOf(gpu.info, gpu.limits, { cacheDtype: config.cache_dtype });
  const cells = await withStandIns(config, said, async (config) => {
    const run = await planRun(rehearsal, config, {});
    return predictionCells(predict(gpu, run, { kind: "colocated", ranks }));
  });
  // In order: the page leaves some rows out.
  let next = 0;
  for (const row of rows) {
    next = cells.findIndex(([name], i) => i >= next && name === row[0]);
    assert.ok(next >= 0, row[0]);
    assert.equal(row[1], cells[next][1], `${row[0]} on ${ranks}`);
    next++;
  }
});
