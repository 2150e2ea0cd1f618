import assert from "node:assert/strict";
import { join } from "node:path";
import { exists } from "../../../src/platform/files/atomic_file.ts";
import { changeTangoConfig, parseSettings } from "../../../src/run/config/changeable.ts";
import { tangoConfigSchema } from "../../../src/run/config/config_schema.ts";
import { ConfigHistory } from "../../../src/run/control/config_history.ts";
import { RunControl } from "../../../src/run/control/run_control.ts";

const initial = tangoConfigSchema.parse({ generator: { model: "g" }, verifier: { model: "v" } });

function withHistory(
  body: (path: string, open: () => ConfigHistory<typeof initial>) => void,
): void {
  const folder = Deno.makeTempDirSync();
  try {
    const path = join(folder, "history.jsonl");
    body(path, () => new ConfigHistory(path, initial, changeTangoConfig));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const RATE = "generator.optimizer.learning_rate";
const rateOf = ({ generator }: typeof initial) => generator.optimizer.learning_rate;

Deno.test("config history: a change holds from its step on, also for whoever reads it again", () => {
  withHistory((_, open) => {
    open().change(3, { [RATE]: 0.5, "rollout.temperature": 0.7 });
    open().change(5, { [RATE]: 0.25 });
    for (const history of [open(), open()]) {
      assert.deepEqual([1, 2, 3, 4, 5, 9].map((step) => rateOf(history.at(step))), [
        ...[1e-4, 1e-4, 0.5, 0.5, 0.25, 0.25],
      ]);
      assert.equal(history.at(9).rollout.temperature, 0.7);
      assert.deepEqual(history.changedAt(3), { [RATE]: 0.5, "rollout.temperature": 0.7 });
      assert.deepEqual(history.changedAt(4), {});
    }
  });
});

Deno.test("config history: the last word on a setting stands, whatever a longer run had made of it", () => {
  withHistory((_, open) => {
    const history = open();
    history.change(6, { [RATE]: 0.5, "rollout.temperature": 0.7 });
    history.change(4, { [RATE]: 0.1 });
    history.change(4, { "schedule.test_frequency": 2 });
    assert.equal(rateOf(open().at(9)), 0.1);
    assert.deepEqual(open().changedAt(6), { "rollout.temperature": 0.7 });
    assert.deepEqual(open().changedAt(4), { [RATE]: 0.1, "schedule.test_frequency": 2 });
  });
});

Deno.test("config history: what may not change, or does not fit, changes nothing", () => {
  withHistory((path, open) => {
    const history = open();
    const refused = [
      [{ "rollout.batch_size": 4 }, /rollout\.batch_size cannot change .* What can is generator\./],
      [
        { [RATE]: -1 },
        /^generator\.optimizer\.learning_rate is -1; expected a number, greater than 0/,
      ],
      [{ [RATE]: 0.1, "rollout.temperature": "hot" }, /rollout\.temperature is "hot"/],
      [{ "advantage.alpha.minimum": 0.5 }, /at most advantage\.alpha\.initial, which is 0\.1/],
    ] as const;
    for (const [settings, message] of refused) {
      assert.throws(() => history.change(2, settings), { name: "UserError", message });
    }
    assert.ok(!exists(path));
    // Possible now, and impossible once the later change is made too.
    history.change(8, { "advantage.alpha.initial": 0.01 });
    assert.throws(() => history.check(2, { "advantage.alpha.minimum": 0.05 }), {
      name: "UserError",
    });
    history.check(2, { "advantage.alpha.minimum": 0.005 });
    assert.equal(Deno.readTextFileSync(path).split("\n").length, 2);
  });
});

Deno.test("config history: a line without settings is damage, named by its place", () => {
  withHistory((path, open) => {
    for (
      const line of ['{"step":3}', '{"step":3,"settings":{"a":null}}', '{"step":3,"settings":3}']
    ) {
      Deno.writeTextFileSync(path, `{"step":2,"settings":{}}\n${line}\n`);
      assert.throws(open, {
        name: "UserError",
        message: /history\.jsonl:2 is damaged: "settings" .* found \{"step":3.* Remove the damaged/,
      });
    }
  });
});

Deno.test("changed settings: a verifier that is not trained has none", () => {
  const change = (verifier: typeof initial.verifier) => () =>
    changeTangoConfig({ ...initial, verifier }, { "verifier.optimizer.learning_rate": 0.1 });
  const { verifier } = initial;
  assert.ok(verifier);
  assert.throws(change(null), {
    name: "UserError",
    message: /verifier\.optimizer\.learning_rate cannot change: .* \(verifier is null\)\.$/,
  });
  assert.throws(change({ ...verifier, trained: false }), { message: /verifier\.trained is false/ });
  assert.equal(change(verifier)().verifier?.optimizer.learning_rate, 0.1);
});

Deno.test("parseSettings: numbers and words by key", () => {
  assert.deepEqual(parseSettings(["a.b=1e-5", "c=cosine"]), { "a.b": 1e-5, c: "cosine" });
  for (const one of ["a", "a={b: 1}", "a=", "=1"]) {
    assert.throws(() => parseSettings([one]), { name: "UserError" });
  }
});

Deno.test("run control: settings go to the run that is open, unless they are locked", () => {
  const control = new RunControl();
  assert.throws(() => control.change({ a: 1 }), {
    name: "UserError",
    message: /No run is going on/,
  });
  const taken: object[] = [];
  {
    using _door = control.open((settings) => taken.push(settings));
    control.change({ a: 2 });
    using _lock = control.lock("not now");
    assert.throws(() => control.change({ a: 3 }), { name: "UserError", message: "not now" });
  }
  assert.throws(() => control.change({ a: 4 }), { name: "UserError" });
  assert.deepEqual(taken, [{ a: 2 }]);
});
