import assert from "node:assert/strict";
import fc from "fast-check";
import { join } from "node:path";
import { JsonLinesLog, readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import { type MetricsLine, MetricsLog, TimingsLog } from "../../../src/run/store/metrics_log.ts";

function withPath(body: (path: string) => void): void {
  const folder = Deno.makeTempDirSync();
  try {
    body(join(folder, "metrics.jsonl"));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const line = (step: number): MetricsLine => ({
  step,
  phase: "generator",
  "generator/kl": step / 3,
});

function write(path: string, from: number, to: number, lastStep?: number): void {
  using log = new MetricsLog(path, lastStep);
  for (let step = from; step <= to; step++) log.append(line(step));
  log.sync();
}

Deno.test("metrics log: resumed at any point, cut anywhere, it ends with the same bytes", () => {
  withPath((path) => {
    write(path, 0, 12);
    const whole = Deno.readFileSync(path);
    fc.assert(
      fc.property(fc.nat(12), fc.nat(whole.length), (checkpointStep, cut) => {
        const kept = Deno.readTextFileSync(path).split("\n").slice(0, checkpointStep + 1).join(
          "\n",
        );
        const crashed = Math.max(cut, kept.length + 1); // the checkpoint's own lines are on the disk
        const copy = `${path}.copy`;
        Deno.writeFileSync(copy, whole.slice(0, crashed));
        write(copy, checkpointStep + 1, 12, checkpointStep);
        assert.deepEqual(Deno.readFileSync(copy), whole);
      }),
      { numRuns: 60 },
    );
  });
});

Deno.test("metrics log: resuming before any checkpoint starts the log afresh", () => {
  withPath((path) => {
    write(path, 0, 3);
    write(path, 0, 0, -1);
    assert.deepEqual(readJsonLines(path), [line(0)]);
  });
});

Deno.test("metrics log: a new run does not continue an old log", () => {
  withPath((path) => {
    write(path, 0, 1);
    assert.throws(() => new MetricsLog(path), {
      name: "UserError",
      message: /already holds a log/,
    });
  });
});

Deno.test("metrics log: NaN and infinity are errors that name the metric and the step", () => {
  withPath((path) => {
    using log = new MetricsLog(path);
    for (const value of [NaN, Infinity, -Infinity]) {
      assert.throws(() => log.append({ step: 4, phase: "verifier", "verifier/kl": value }), {
        message: new RegExp(`step 4, verifier/kl is ${value}`),
      });
    }
    using nested = new JsonLinesLog<{ step: number; rewards: number[] }>(`${path}.nested`);
    assert.throws(() => nested.append({ step: 1, rewards: [1, NaN] }), {
      message: /rewards, 1 is NaN/,
    });
    assert.equal(Deno.statSync(path).size, 0);
  });
});

Deno.test("metrics log: times belong in timings.jsonl", () => {
  withPath((path) => {
    const timed: MetricsLine = { step: 1, phase: "generator", "perf/tokens_per_second": 5 };
    using metrics = new MetricsLog(path);
    assert.throws(() => metrics.append(timed), { message: /timings\.jsonl/ });
    using timings = new TimingsLog(`${path}.timings`);
    timings.append(timed);
    assert.deepEqual(readJsonLines(`${path}.timings`), [timed]);
  });
});

Deno.test("metrics log: a damaged line is named by file and line; a torn last line is passed over", () => {
  withPath((path) => {
    Deno.writeTextFileSync(path, '{"step":1}\n{"step":2}\n{"st');
    assert.equal(readJsonLines(path).length, 2);
    Deno.writeTextFileSync(path, '{"step":1}\nrubbish\n{"step":2}\n');
    assert.throws(() => readJsonLines(path), {
      name: "UserError",
      message: /metrics\.jsonl:2 is damaged/,
    });
  });
});

Deno.test("metrics log: resumed, it sets damaged lines aside and says which steps it has lost", () => {
  withPath((path) => {
    const whole = [line(0), line(1), line(4), line(6)].map((one) => JSON.stringify(one));
    const text = [whole[0], "rubbish", whole[1], "{}", "{", whole[2], whole[3], "later", ""];
    Deno.writeTextFileSync(path, text.join("\n"));
    {
      using log = new JsonLinesLog(path, 5, true);
      assert.ok(
        log.damage?.startsWith(
          `${path}: 3 damaged lines (2, 4–5) were set aside in ${path}.damaged; nothing is left of 3 steps (2–3, 5).`,
        ),
        `${log.damage}`,
      );
    }
    assert.equal(Deno.readTextFileSync(path), `${whole.slice(0, 3).join("\n")}\n`);
    assert.equal(Deno.readTextFileSync(`${path}.damaged`), "rubbish\n{}\n{\n");
    using again = new JsonLinesLog(path, 1, true);
    assert.equal(again.damage, null);
    using gone = new JsonLinesLog(`${path}.gone`, 2, true);
    assert.match(gone.damage ?? "", /nothing is left of 2 steps \(1–2\)/);
  });
});
