/** Turns of a base, of adapters on it and of training, over a stand-in for the GPU. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { LoraConfig } from "../../../src/model/decoder/lora.ts";
import type { FromModel, Operation, ToModel } from "../../../src/server/serving/messages.ts";
import { PolicyTurns, TURN } from "../../../src/server/serving/policies.ts";
import { ServingLoop } from "../../../src/server/serving/serving_loop.ts";
import { ORDERS } from "./orders.ts";
import { requestFor, StubGpu } from "./stubs.ts";

/** What a run of all orders does, in microtasks, before it counts as stuck. */
const MOST_TICKS = 200_000;
const FOLDERS = ["a", "b", "c", "d"];
const TRAINED = ["one", "two", "three"];

/** What a model's process does, told by messages as the server tells it. */
class Process {
  readonly gpu: StubGpu;
  readonly policies: PolicyTurns;
  readonly told: FromModel[] = [];
  readonly #loop: ServingLoop;
  #id = 0;

  /** @param room for adapters */
  constructor(room: number) {
    const gpu = this.gpu = new StubGpu(room);
    const policies = this.policies = new PolicyTurns(
      (folder) => gpu.load(folder),
      (folder) => gpu.markOf(folder),
    );
    gpu.makeRoom = () => policies.makeRoom();
    const state = () => assert.fail("nobody looks");
    const pipes = {
      tell: (message: FromModel) => void this.told.push(message),
      catchUp: () => Promise.resolve(),
    };
    this.#loop = new ServingLoop({ policies, adapters: gpu, state }, pipes, (error) => {
      throw error;
    });
  }

  sample(adapter: string | null, tokens: number): number {
    const id = ++this.#id;
    this.#take({ type: "sample", id, request: requestFor(tokens), adapter, streams: true });
    return id;
  }

  abort(id: number): void {
    this.#take({ type: "abort", id });
  }

  call(operation: Operation): number {
    const id = ++this.#id;
    this.#take({ type: "call", id, operation });
    return id;
  }

  train(adapter: string, passes: number): number {
    const sequence = { tokens: Uint32Array.of(1), targets: Uint32Array.of(1), first: 0 };
    const weighted = { ...sequence, weights: Float32Array.of(1) };
    return this.call({
      ...{ kind: "forwardBackward", adapter, loss: { name: "cross_entropy" } },
      sequences: Array.from({ length: passes }, () => weighted),
    });
  }

  forget(folder: string): void {
    this.#take({ type: "forget", folder });
  }

  #take(message: ToModel): void {
    this.#loop.take(message);
  }

  /** What a request came to; undefined while it is waited for. */
  endOf(id: number): FromModel | undefined {
    const ends = this.told.filter((one) => one.type !== "ready" && one.id === id)
      .filter(({ type }) => type !== "tokens");
    assert.ok(ends.length <= 1, "everybody is answered once");
    return ends[0];
  }

  /** Until all are answered. */
  async answered(...ids: readonly number[]): Promise<readonly FromModel[]> {
    for (let tick = 0; ids.some((id) => this.endOf(id) === undefined); tick++) {
      assert.ok(tick < MOST_TICKS, "somebody is never answered");
      await Promise.resolve();
    }
    return ids.map((id) => this.endOf(id) as FromModel);
  }
}

const config: LoraConfig = { rank: 4, alpha: 4, targets: [] };
const isWhole = (message: FromModel, tokens: number) =>
  message.type === "end" && message.response.tokens.length === tokens;

Deno.test("an adapter that cannot be loaded is refused once, and the base goes on", async () => {
  const process = new Process(0);
  const before = process.sample(null, 20);
  const [full, again] = [process.sample("a", 1), process.sample("a", 1)];
  const [first, second, base] = await process.answered(full, again, before);
  assert.deepEqual([first.type, second.type], ["refused", "refused"]);
  assert.ok(isWhole(base, 20));
  const [later] = await process.answered(process.sample(null, 3));
  assert.ok(isWhole(later, 3));
  assert.ok(!process.policies.busy, "nothing is left to do");
});

Deno.test("an adapter that was given up while it was loaded is taken off the GPU for another", async () => {
  const process = new Process(1);
  const given = process.sample("a", 5);
  while (process.gpu.taken === 0) await Promise.resolve();
  process.abort(given);
  const [{ type }, end] = await process.answered(given, process.sample("b", 2));
  assert.equal(type, "end");
  assert.ok(isWhole(end, 2));
  assert.equal(process.gpu.taken, 1);
  assert.equal(process.policies.adapters, 1);
});

Deno.test("adapters that nobody samples from make room for one in training", async () => {
  const process = new Process(1);
  await process.answered(process.sample("a", 1));
  const [made] = await process.answered(
    process.call({ kind: "create", adapter: "one", config, seed: 0 }),
  );
  assert.equal(made.type, "answer");
  const [refused] = await process.answered(process.sample("a", 1));
  assert.equal(refused.type, "refused");
});

Deno.test("who is asked for all the time holds up nobody: turns go around in the order of coming", async () => {
  const process = new Process(2);
  const all = [process.sample("a", 3 * TURN), process.sample("b", 3 * TURN)];
  while (process.gpu.worked.length < TURN / 2) await Promise.resolve();
  all.push(process.sample(null, TURN));
  const { worked } = process.gpu;
  const asked = worked.length;
  while (worked.lastIndexOf(null) < 0) {
    assert.ok(worked.length - asked <= 2 * TURN, "the base waits for more than two turns");
    // Somebody comes to both adapters again and again.
    all.push(process.sample("a", 1), process.sample("b", 1));
    for (const end = worked.length; worked.length === end;) await Promise.resolve();
  }
  await process.answered(...all);
});

Deno.test("a base has a window between two passes of a training call", async () => {
  const process = new Process(1);
  await process.answered(process.call({ kind: "create", adapter: "one", config, seed: 0 }));
  const trained = process.train("one", 12);
  const { worked } = process.gpu;
  while (worked.length < 2) await Promise.resolve();
  const sampled = process.sample(null, 4);
  await process.answered(sampled);
  assert.equal(process.endOf(trained), undefined, "the call is still at it");
  const [{ type }] = await process.answered(trained);
  assert.equal(type, "answer");
  const between = worked.slice(worked.indexOf(null), worked.lastIndexOf(null) + 1);
  assert.deepEqual(between.filter((what) => what !== null).length, 3, between.join());
});

Deno.test("an adapter that was written anew is read anew by who comes later, and stays for who came before", async () => {
  const process = new Process(2);
  const contentOf = (message: FromModel) =>
    message.type === "end" ? [...new Set(message.response.tokens)] : assert.fail();
  const before = process.sample("a", 2 * TURN);
  while (process.gpu.worked.length < 3) await Promise.resolve();
  process.gpu.written.set("a", 1);
  const after = process.sample("a", 2 * TURN);
  const ends = await process.answered(before, after);
  assert.deepEqual(ends.map(contentOf), [[0], [1]]);
  await process.answered(process.sample(null, 1));
  assert.equal(process.policies.adapters, 1, "nobody asks for the first one any more");
  // Of a folder that is gone, what is there is as good as ever.
  process.gpu.broken.add("a");
  assert.deepEqual((await process.answered(process.sample("a", 1))).map(contentOf), [[1]]);
});

const folder = fc.constantFrom(...FOLDERS);
/** What was asked for, with what its folder held, and what had been worked at. */
interface Sampled {
  readonly adapter: string | null;
  readonly tokens: number;
  readonly content: number;
  readonly at: number;
}
const trained = fc.constantFrom(...TRAINED);
/** So long nothing new happens, in microtasks. */
const pause = fc.integer({ min: 0, max: 40 });
const orders = fc.array(
  fc.tuple(
    fc.oneof(
      fc.record({ do: fc.constant("sample" as const), tokens: fc.integer({ min: 0, max: 90 }) }),
      fc.record({
        ...{ do: fc.constant("sample" as const), tokens: fc.integer({ min: 0, max: 90 }) },
        folder,
      }),
      fc.record({ do: fc.constant("abort" as const), which: fc.nat() }),
      fc.record({ do: fc.constant("break" as const), folder }),
      fc.record({ do: fc.constant("mend" as const), folder }),
      fc.record({ do: fc.constant("write" as const), folder }),
      fc.record({ do: fc.constant("forget" as const), folder }),
      fc.record({ do: fc.constant("create" as const), trained }),
      fc.record({ do: fc.constant("train" as const), trained, passes: fc.nat({ max: 9 }) }),
      fc.record({ do: fc.constant("drop" as const), trained }),
    ),
    pause,
  ),
  { minLength: 1, maxLength: 40 },
);

Deno.test(`${ORDERS} random orders of loads, failures, training, sampling and giving up: everybody is answered within their turns, and the memory returns`, async () => {
  await fc.assert(
    fc.asyncProperty(orders, fc.integer({ min: 0, max: 4 }), async (order, room) => {
      const process = new Process(room);
      const { gpu } = process;
      const asked: number[] = [];
      const sampled = new Map<number, Sampled>();
      for (const [one, ticks] of order) {
        const { worked } = gpu;
        switch (one.do) {
          case "sample": {
            const adapter = "folder" in one ? one.folder : null;
            const id = process.sample(adapter, one.tokens);
            const { tokens } = one;
            // Of a folder that is gone, what is on the GPU is sampled from.
            const isGone = gpu.broken.has(adapter ?? "");
            const content = isGone ? 0 : gpu.written.get(adapter ?? "") ?? 0;
            sampled.set(id, { adapter, tokens, content, at: worked.length });
            asked.push(id);
            break;
          }
          case "abort":
            if (asked.length > 0) process.abort(asked[one.which % asked.length]);
            break;
          case "break":
            gpu.broken.add(one.folder);
            break;
          case "mend":
            gpu.broken.delete(one.folder);
            break;
          case "write":
            gpu.written.set(one.folder, (gpu.written.get(one.folder) ?? 0) + 1);
            break;
          case "forget":
            process.forget(one.folder);
            break;
          case "create":
            asked.push(process.call({ kind: "create", adapter: one.trained, config, seed: 0 }));
            break;
          case "train":
            asked.push(process.train(one.trained, one.passes));
            break;
          case "drop":
            asked.push(process.call({ kind: "drop", adapter: one.trained }));
        }
        for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
        assert.ok(gpu.taken <= room);
      }
      await process.answered(...asked);
      for (const [id, { adapter, tokens, content, at }] of sampled) {
        const end = process.endOf(id);
        if (end?.type === "end") {
          for (const one of end.response.tokens) assert.ok(one >= content, "no weights are old");
          if (end.response.end.reason === "aborted") continue;
        }
        if (adapter !== null) continue;
        // The base is refused nothing that can be had.
        if (tokens === 0) assert.equal(end?.type, "refused");
        else {
          assert.ok(end && isWhole(end, tokens));
          const before = gpu.worked.slice(at, gpu.worked.indexOf(null, at));
          for (const folder of FOLDERS) {
            // Each content of a folder has a turn of its own.
            const contents = order.filter(([one]) =>
              (one.do === "write" || one.do === "forget") && one.folder === folder
            );
            const most = TURN * (1 + contents.length);
            assert.ok(before.filter((what) => what === folder).length <= most, before.join());
          }
        }
      }
      const first = process.gpu.worked.length;
      const [last] = await process.answered(process.sample(null, 1));
      assert.ok(isWhole(last, 1));
      // But for what was worked at when it was asked.
      assert.ok(gpu.worked.length - first <= 2, "nobody else is in the way any more");
      await process.answered(
        ...TRAINED.map((adapter) => process.call({ kind: "drop", adapter })),
      );
      for (const one of FOLDERS) process.forget(one);
      while (process.policies.busy) await Promise.resolve();
      assert.equal(gpu.taken, 0);
      assert.equal(process.policies.adapters, 0);
    }),
    { numRuns: ORDERS },
  );
});
