/** docs/memory.md says what the plan says of all weights of 7 billion. */

import assert from "node:assert/strict";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { loadGpuDescription } from "../../../src/run/plan/gpu_description.ts";
import { predictMemory } from "../../../src/run/plan/planned_memory.ts";
import { withStandIns } from "../../../src/run/plan/stand_ins.ts";
import { optionsOf } from "./page_command.ts";

const page = Deno.readTextFileSync("docs/memory.md");

Deno.test("docs/memory.md: eight GPUs of 80 GB hold all weights of 7 billion, split", async () => {
  const [, command] =
    /```sh\n(\.\/tango plan --gpu h100 --ranks 8 --config configs\/tango[^`]*--memory)\n```/.exec(
      page,
    ) ??
      [];
  const options = optionsOf(command);
  const gpu = loadGpuDescription("h100");
  const config = loadTangoConfig(String(options.get("--config")), { set: options.get("--set") });
  const said = {
    problem: Number(options.get("--problem-tokens")),
    judgment: Number(options.get("--judgment-tokens")),
  };
  const rehearsal = Gpu.rehearsalOf(gpu.info, gpu.limits, { cacheDtype: config.cache_dtype });
  const placement = { kind: "split", generator: 4, verifier: 4 } as const;
  const memory = await withStandIns(
    config,
    said,
    (config) => predictMemory(rehearsal, config, placement),
  );
  const columns = memory.map(({ plan }) => {
    assert.ok(plan && plan.peakBytes < 80e9);
    const uses = plan.resident.map(({ bytes }) => bytes);
    return [...uses, plan.peakBytes - uses.reduce((sum, bytes) => sum + bytes, 0), plan.peakBytes];
  });
  const table = page.slice(page.indexOf("| a rank of")).split("\n").slice(2, 8);
  table.forEach((line, row) => {
    const cells = line.split("|").slice(2, 4).map((cell) => cell.trim());
    assert.deepEqual(cells, columns.map((column) => (column[row] / 1e9).toFixed(1)), line);
  });
});
