/** `./tango bench` in a browser: every kernel checked against float64 and timed, as far as it suits a visitor's GPU. */

import "../../src/tab/worker/younger_language.ts";
import { limitsOf } from "../../src/gpu/device_limits.ts";
import { Gpu } from "../../src/gpu/gpu.ts";
import { DeviceLost } from "../../src/gpu/gpu_failure.ts";
import { measureDeviceRates } from "../device_rates.ts";
import { measure } from "../measure.ts";
import type { BenchResult, ResultsFile } from "../results.ts";
import { resultsName } from "../results_name.ts";
import { listTasks } from "../shapes.ts";
import type { MeasuredTold } from "./messages.ts";

/** Those of models of seven billion numbers take more memory than a page should. */
const LABELS = ["tiny", "small", "default"];

/** Seconds for each result, as of `./tango bench --seconds`. */
const BUDGET = 0.2;

const tell = (told: MeasuredTold) => (self as unknown as Worker).postMessage(told);

async function report(): Promise<void> {
  const gpu = await Gpu.open("dawn");
  const filter = new URLSearchParams(location.search).get("filter") ?? "";
  const tasks = listTasks(filter).filter(({ shape }) => LABELS.includes(shape.label));
  tell({ type: "began", adapter: gpu.info.name, tasks: tasks.length });
  const rates = await measureDeviceRates(gpu, BUDGET);
  const results: BenchResult[] = [];
  for (const task of tasks) {
    try {
      const result = await measure(gpu, task, rates, BUDGET, console.log);
      results.push(result);
      tell({ type: "result", result });
    } catch (error) {
      if (error instanceof DeviceLost) throw error;
      const { message } = error as Error;
      tell({ type: "refused", name: `${task.name}/${task.shape.label}`, message });
    }
  }
  const { engine, name: adapter, software } = gpu.info;
  const file: ResultsFile = {
    engine,
    adapter,
    software,
    device: {
      info: gpu.info,
      limits: limitsOf(gpu.device),
      driver: null,
      system: navigator.userAgent,
      versions: {},
      tuning: [],
    },
    rates,
    results,
  };
  tell({ type: "done", file, name: resultsName(gpu.info, "browser") });
  gpu.close();
}

report().catch((error) => tell({ type: "failed", message: (error as Error).message }));
