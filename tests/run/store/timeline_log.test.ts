import assert from "node:assert/strict";
import { activityOf, timelineLine, TimelineLog } from "../../../src/run/store/timeline_log.ts";

const began = Date.UTC(2026, 0, 1);

Deno.test("timeline log: a line gives the spans back, to a tenth of a millisecond", () => {
  const ranks = [
    [
      { name: "rollout", begin: began + 0.123, end: began + 1234.567 },
      { name: "idle", begin: began + 1234.567, end: began + 1300.001 },
    ],
    [],
    // Shorter than can be told.
    [{ name: "idle", begin: began + 7, end: began + 7.01 }],
  ];
  const written = JSON.stringify(timelineLine(3, ranks));
  const [first, second, third] = activityOf(JSON.parse(written));
  assert.deepEqual([second, third], [[], []]);
  assert.deepEqual(first.map(({ name }) => name), ["rollout", "idle"]);
  first.forEach(({ begin, end }, place) => {
    // Half of a tenth, and what a double keeps of milliseconds since 1970.
    assert.ok(Math.abs(begin - ranks[0][place].begin) < 0.051);
    assert.ok(Math.abs(end - ranks[0][place].end) < 0.051);
  });
  assert.equal(first[0].end, first[1].begin);
});

Deno.test("timeline log: eight ranks' usual step takes a kilobyte, and a resumed run's are replaced", () => {
  const path = `${Deno.makeTempDirSync()}/timeline.jsonl`;
  const names = ["rollout", "idle", "verification", "idle", "forward-backward", "communicate"];
  const spans = (rank: number) =>
    [...names, "optimizer", "update"].map((name, i) => ({
      name,
      begin: began + 5000 * i + rank,
      end: began + 5000 * (i + 1) + rank,
    }));
  const ranks = (count: number) => Array.from({ length: count }, (_, rank) => spans(rank));
  {
    using log = new TimelineLog(path);
    for (let step = 1; step <= 5; step++) log.append(timelineLine(step, ranks(8)));
  }
  const bytes = Deno.statSync(path).size / 5;
  assert.ok(bytes < 1024, `${bytes} bytes`);
  {
    using log = new TimelineLog(path, 3);
    log.append(timelineLine(4, ranks(2)));
  }
  const lines = Deno.readTextFileSync(path).trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({ step, ranks }) => [step, ranks.length]), [
    [1, 8],
    [2, 8],
    [3, 8],
    [4, 2],
  ]);
});
