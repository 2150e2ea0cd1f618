/**
 * Starts a short run on a server and prints what it gets, step by step.
 *
 *     ./tango serve
 *     deno run -A examples/watch_run.ts http://127.0.0.1:8000
 */

import { answered, connect } from "../src/client/connect.ts";

const [url = "http://127.0.0.1:8000"] = Deno.args;
const { runs } = connect({ url, token: Deno.env.get("TANGO_TOKEN") }).api;

const { id } = await answered(runs.$post({
  header: {},
  json: { kind: "train", preset: "last-letter", steps: 4, set: ["evaluation.problems=64"] },
}));
const param = { id };
let shown = 0;
for (;;) {
  const { state, error } = await answered(runs[":id"].$get({ param }));
  if (state !== "waiting" && state !== "starting") {
    const { steps, series } = await answered(
      runs[":id"].metrics.$get({ param, query: { names: "generator/reward", points: "1000" } }),
    );
    for (; shown < steps.length; shown++) {
      console.log(`step ${steps[shown]}: reward ${series["generator/reward"][shown]}`);
    }
  }
  if (["finished", "stopped", "killed", "failed", "lost"].includes(state)) {
    console.log(`${id} is ${state}${error === null ? "" : `: ${error}`}`);
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
}
