import assert from "node:assert/strict";
import { allGather, barrier, broadcast } from "../../src/distributed/collectives.ts";
import { alone } from "../../src/distributed/communicator.ts";
import { rankGroup } from "../../src/distributed/rank_group.ts";
import { broadcastValue, collectValues, gatherValues } from "../../src/distributed/values.ts";
import { onRanks } from "./in_process.ts";

const sizes = [1, 2, 3, 4, 5, 8];

Deno.test("broadcast: every rank has the root's bytes, whoever the root is", async () => {
  for (const size of sizes) {
    for (let root = 0; root < size; root++) {
      const found = await onRanks(size, async (communicator) => {
        const bytes = new Uint8Array([communicator.rank, 7 * communicator.rank]);
        await broadcast(communicator, bytes, root);
        return [...bytes];
      });
      assert.deepEqual(found, found.map(() => [root, 7 * root]), `${size} ranks from ${root}`);
    }
  }
});

Deno.test("all-gather: bytes of different lengths, also of none", async () => {
  for (const size of sizes) {
    const expected = Array.from({ length: size }, (_, r) => new Array<number>(r % 3).fill(r));
    const found = await onRanks(size, async (communicator) => {
      const { rank } = communicator;
      const perRank = expected.map((bytes, r) =>
        r === rank ? Uint8Array.from(bytes) : new Uint8Array(bytes.length)
      );
      await allGather(communicator, perRank);
      return perRank.map((bytes) => [...bytes]);
    });
    assert.deepEqual(found, found.map(() => expected));
  }
});

Deno.test("barrier: nobody leaves before the last one came", async () => {
  for (const size of sizes) {
    let arrived = 0;
    await onRanks(size, async (communicator) => {
      await new Promise((resolve) => setTimeout(resolve, 3 * communicator.rank));
      arrived++;
      await barrier(communicator);
      assert.equal(arrived, size);
    });
  }
});

Deno.test("values: gathered, collected and broadcast with all their bits", async () => {
  const numbers = Float32Array.of(1 / 3, -0, NaN, Infinity, 1e-45);
  const value = (rank: number) => ({ rank, numbers, ids: Uint32Array.of(rank), none: null });
  for (const size of sizes) {
    const all = Array.from({ length: size }, (_, rank) => value(rank));
    const gathered = await onRanks(
      size,
      (communicator) => gatherValues(communicator, value(communicator.rank)),
    );
    assert.deepEqual(gathered, all.map(() => all));
    const collected = await onRanks(
      size,
      (communicator) => collectValues(communicator, value(communicator.rank), size - 1),
    );
    assert.deepEqual(collected, all.map((_, rank) => rank === size - 1 ? all : null));
    const told = await onRanks(
      size,
      (communicator) => broadcastValue(communicator, value(communicator.rank), size - 1),
    );
    assert.deepEqual(told, all.map(() => value(size - 1)));
  }
  assert.deepEqual(await gatherValues(alone, "one"), ["one"]);
});

Deno.test("rank group: its ranks are numbered anew and reach nobody else", async () => {
  const found = await onRanks(5, async (communicator) => {
    const ranks = communicator.rank % 2 === 0 ? [4, 0, 2] : [1, 3];
    const group = rankGroup(communicator, ranks);
    return await gatherValues(group, communicator.rank);
  });
  assert.deepEqual(found, [[4, 0, 2], [1, 3], [4, 0, 2], [1, 3], [4, 0, 2]]);
  assert.throws(() => rankGroup(alone, [1, 2]), /rank 0 is not one of 1, 2/);
});

Deno.test("channels: messages of one do not come out of another", async () => {
  const found = await onRanks(2, async (communicator) => {
    const other = 1 - communicator.rank;
    await communicator.channel(1).send(Uint8Array.of(1), other);
    await communicator.channel(0).send(Uint8Array.of(0), other);
    const [first, second] = [new Uint8Array(1), new Uint8Array(1)];
    await communicator.channel(0).receive(first, other);
    await communicator.channel(1).receive(second, other);
    return [first[0], second[0], communicator.bytesSent];
  });
  assert.deepEqual(found, [[0, 1, 2], [0, 1, 2]]);
});
