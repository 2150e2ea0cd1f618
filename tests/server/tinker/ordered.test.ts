import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Futures } from "../../../src/server/tinker/futures.ts";
import { Ordered } from "../../../src/server/tinker/ordered.ts";
import { Sessions } from "../../../src/server/tinker/sessions.ts";
import type { Served } from "../../../src/server/serving/served_models.ts";
import { withFolder } from "../written_run.ts";

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

Deno.test("ordered: begun by number, and what waits for one that never comes is begun after a while", async () => {
  const futures = new Futures();
  const ordered = new Ordered(futures, "me", 50);
  const begun: number[] = [];
  const submit = (number: number, bytes = 0) =>
    ordered.submit(number, `${number}`, bytes, () => {
      begun.push(number);
      return Promise.resolve({ json: { number } });
    });
  const three = submit(3);
  submit(2);
  await pause(5);
  assert.deepEqual(begun, []);
  submit(1);
  assert.deepEqual(await futures.wait(three, 1000), { json: { number: 3 } });
  assert.deepEqual(begun, [1, 2, 3]);
  // The fourth was refused on its way.
  const [six, five] = [submit(6), submit(5)];
  await futures.wait(six, 1000);
  assert.deepEqual(begun, [1, 2, 3, 5, 6]);
  assert.deepEqual(await futures.wait(five, 1000), { json: { number: 5 } });
  const late = await futures.wait(submit(4), 1000);
  assert.match(JSON.stringify(late), /after later ones had begun/);
  assert.equal(submit(5), five);
  assert.throws(() => ordered.submit(5, "another", 0, () => Promise.reject()), /another request/);
  // What waits takes memory.
  submit(9, 2 ** 28);
  assert.throws(() => submit(10, 1), /wait for this model/);
  ordered.end();
  await pause(60);
  assert.deepEqual(begun, [1, 2, 3, 5, 6]);
});

Deno.test("sessions: one that says nothing is ended, with its snapshots and what it waits for", async () => {
  await withFolder(async (root) => {
    const futures = new Futures();
    using sessions = new Sessions(join(root, "snapshots"), futures, 200);
    const [silent, talking] = [sessions.begin(), sessions.begin()];
    const dropped: string[] = [];
    const call = ({ adapter }: { adapter: string }) => {
      dropped.push(adapter);
      return Promise.resolve(null);
    };
    const served = { model: { pid: 1, call } } as unknown as Served;
    await silent.add("a", served, 8, () => Promise.resolve());
    await talking.add("b", served, 8, () => Promise.resolve());
    const folder = silent.snapshotFolder();
    Deno.mkdirSync(folder, { recursive: true });
    const waited = futures.add(silent.id, new Promise(() => {}));
    for (let i = 0; i < 8; i++) {
      sessions.get(talking.id);
      await pause(60);
    }
    assert.deepEqual(dropped, ["a"]);
    assert.throws(() => sessions.get(silent.id), /is over/);
    assert.throws(() => sessions.model("a"), /its session is over/);
    assert.ok(silent.ended.aborted && !existsSync(folder));
    await assert.rejects(futures.wait(waited, 1), /unknown or was forgotten/);
    assert.equal(sessions.model("b").session, talking);
  });
});
