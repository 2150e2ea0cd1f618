import assert from "node:assert/strict";
import { UserError } from "../../src/base/user_error.ts";
import { type Communicator, ExchangeFailure } from "../../src/distributed/communicator.ts";
import { broadcastOutcome, gatherOutcomes } from "../../src/distributed/outcomes.ts";
import { holdersOf, type Placed } from "../../src/distributed/placed.ts";
import { allAgree, onHolders, shareOut } from "../../src/distributed/shared_work.ts";
import { streamOut } from "../../src/distributed/streamed_work.ts";
import { onRanks } from "./in_process.ts";

const items = [9, 1, 1, 1, 4, 4, 2, 30];
const itself = (item: number) => item;

/** A thing that some ranks hold; it is the rank's number here. */
const heldBy = (ranks: readonly number[]) => (all: Communicator): Placed<number> => ({
  all,
  ranks,
  here: ranks.includes(all.rank) ? all.rank : null,
});

/** Runs a task as each of four ranks, of which some fail. @returns what each said */
async function failing(task: (all: Communicator) => Promise<unknown>): Promise<string[]> {
  return await onRanks(4, async (all) => {
    try {
      await task(all);
      return "went well";
    } catch (error) {
      assert.ok(error instanceof Error);
      return `${error.name}: ${error.message}`;
    }
  });
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

Deno.test("share out: every item is worked on once, and all ranks have what was found", async () => {
  for (const ranks of [[0, 1, 2, 3], [2], [1, 3]]) {
    const done: [number, number][] = [];
    const found = await onRanks(4, async (all) => {
      const work = (rank: number, own: readonly number[]) => {
        own.forEach((item) => done.push([rank, item]));
        return Promise.resolve(own.map((item) => ({ squared: item * item })));
      };
      return await shareOut(heldBy(ranks)(all), items, itself, work);
    });
    for (const own of found) {
      assert.deepEqual(own, items.map((item) => ({ squared: item * item })));
    }
    assert.deepEqual(done.map(([, item]) => item).sort(), [...items].sort());
    assert.ok(done.every(([rank]) => ranks.includes(rank)));
    if (ranks.length < 4) continue;
    // By length: 30 alone, 9, 4 and 2 with a one, 4 and two ones.
    const loads = ranks.map((rank) =>
      done.filter(([by]) => by === rank).reduce((sum, [, item]) => sum + item, 0)
    );
    assert.deepEqual(loads.sort((a, b) => a - b), [6, 7, 9, 30]);
  }
  const none = await onRanks(
    3,
    (all) => shareOut(heldBy([0, 1, 2])(all), [], itself, (_, own) => Promise.resolve(own)),
  );
  assert.deepEqual(none, [[], [], []]);
});

Deno.test("stream out: each is heard on all ranks as soon as it is found", async () => {
  for (const ranks of [[0, 1, 2, 3], [2], [1, 3]]) {
    const begun = new Set<number>();
    const heard = await onRanks(4, async (all) => {
      const own: number[] = [];
      let wasEarly = false;
      await streamOut(
        heldBy(ranks)(all),
        items,
        itself,
        async (rank, share, tell: (found: number) => void) => {
          for (const item of share) {
            tell(item);
            await pause(1 + rank);
          }
          await pause(30);
          begun.add(rank);
        },
        (found) => {
          own.push(found);
          if (begun.size === 0) wasEarly = true;
        },
      );
      return { own: own.sort(), wasEarly };
    });
    for (const { own, wasEarly } of heard) {
      assert.deepEqual(own, [...items].sort());
      assert.ok(wasEarly, "before any of the ranks was done");
    }
  }
});

Deno.test("shared work: what fails on one rank fails on all with its message", async () => {
  const own = "the reward is no number";
  const mistake = (rank: number) => {
    if (rank === 2) throw new UserError(own);
    return Promise.resolve([]);
  };
  const everywhere = heldBy([0, 1, 2, 3]);
  const expected = [0, 1, 2, 3]
    .map((rank) => `UserError: ${rank === 2 ? own : `Rank 2 failed: ${own}`}`);
  assert.deepEqual(
    await failing((all) => shareOut(everywhere(all), [], itself, mistake)),
    expected,
  );
  assert.deepEqual(await failing((all) => onHolders(everywhere(all), mistake)), expected);
  assert.deepEqual(
    await failing((all) =>
      streamOut(everywhere(all), [], itself, async (rank) => void await mistake(rank), () => {})
    ),
    expected,
  );
  const lost = (all: Communicator) =>
    broadcastOutcome(all, 1, () => Promise.reject(new Error("the GPU is lost")));
  const other = "Failure: Rank 1 failed: the GPU is lost";
  assert.deepEqual(await failing(lost), [other, "Error: the GPU is lost", other, other]);
});

Deno.test("shared work: a failure keeps the number of its rank, whoever passes it on", async () => {
  const found = await failing((all) =>
    onHolders(heldBy([0, 2, 3])(all), async () => {
      const group = holdersOf(heldBy([2, 3])(all));
      if (group === null) return;
      await gatherOutcomes<void>(group, () =>
        all.rank === 3 ? Promise.reject(new Error("the GPU is lost")) : Promise.resolve());
    })
  );
  const other = "Failure: Rank 3 failed: the GPU is lost";
  assert.deepEqual(found, [other, other, other, "Error: the GPU is lost"]);
  const unknown = await failing((all) =>
    gatherOutcomes<void>(all, () => {
      if (all.rank === 1) throw new ExchangeFailure("other bytes came");
      return Promise.resolve();
    })
  );
  assert.deepEqual(unknown, new Array(4).fill("ExchangeFailure: other bytes came"));
});

Deno.test("on holders: the others are told the result, and have something to do meanwhile", async () => {
  const meanwhile: number[] = [];
  const found = await onRanks(4, (all) => {
    const placed = heldBy([1, 2])(all);
    const task = (rank: number) => {
      const group = holdersOf(placed);
      assert.deepEqual([group?.rank, group?.size], [rank - 1, 2]);
      return Promise.resolve({ result: 7 });
    };
    return onHolders(placed, task, () => Promise.resolve(void meanwhile.push(all.rank)));
  });
  assert.deepEqual(found, found.map(() => ({ result: 7 })));
  assert.deepEqual(meanwhile.sort(), [0, 3]);
});

Deno.test("all agree: one that does not is enough", async () => {
  assert.deepEqual(await onRanks(3, (all) => allAgree(all, true)), [true, true, true]);
  assert.deepEqual(await onRanks(3, (all) => allAgree(all, all.rank !== 1)), [false, false, false]);
});
