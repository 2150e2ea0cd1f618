import assert from "node:assert/strict";
import { Meeting } from "../../../src/cli/ranks/meeting.ts";
import type { RankStage } from "../../../src/cli/ranks/rank_watch.ts";

/** What is said of ranks at these stages, of which none was heard of for long. */
async function said(...stages: (RankStage | null)[]): Promise<string> {
  const stageOf = (rank: number) => stages[rank];
  const watch = { stageOf, pidOf: () => null, silentSeconds: 90 };
  using meeting = new Meeting(watch, stages.length);
  const keepAlive = setTimeout(() => {}, 60_000); // it does not hold the process itself
  try {
    return await meeting.failed;
  } finally {
    clearTimeout(keepAlive);
  }
}

Deno.test("meeting: ranks that do not come are named", async () => {
  assert.match(await said("here", null, "here"), /^rank 1 has not begun within 90 s/);
  assert.match(await said("joined", "here", "here"), /^rank 1, 2 has not joined the others within/);
});
