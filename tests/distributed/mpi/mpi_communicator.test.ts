import assert from "node:assert/strict";
import { play, playUntil, testEachLibrary } from "./installations.ts";
import { gone } from "./processes.ts";

/** What `rank_program.ts` tells of one rank. */
interface Found {
  readonly rank: number;
  readonly size: number;
  readonly places: readonly { host: string; localRank: number }[];
  readonly gathered: readonly string[];
  readonly none: boolean;
  readonly small: boolean;
  readonly large: boolean;
  readonly many: boolean;
  readonly channels: boolean;
  readonly burnt: number;
  readonly sent: number;
}

for (const ranks of [2, 3]) {
  testEachLibrary(`${ranks} ranks exchange messages`, async (mpiexec) => {
    const { code, printed } = await play(mpiexec, ranks, "exchange");
    assert.equal(code, 0, printed);
    const all = JSON.parse(printed.match(/^\[\{.*$/m)?.[0] ?? "[]") as Found[];
    assert.equal(all.length, ranks, printed);
    all.forEach((found, rank) => {
      assert.equal(found.rank, rank);
      assert.equal(found.size, ranks);
      const host = Deno.hostname();
      assert.deepEqual(found.places, all.map((_, localRank) => ({ host, localRank })));
      assert.deepEqual(found.gathered, all.map((_, r) => `from ${r}`));
      const { none, small, large, many, channels } = found;
      assert.deepEqual({ none, small, large, many, channels }, {
        none: true,
        small: true,
        large: true,
        many: true,
        channels: true,
      }, `rank ${rank}`);
      // A blocking call takes a whole core; the bound leaves room for a busy machine.
      assert.ok(found.burnt < 0.4, `waiting takes ${found.burnt} of a core`);
      const many17 = 17 * 300 * 299 / 2;
      assert.ok(found.sent >= (ranks - 1) * (1 + 64e6 + 3 + many17));
    });
  });
}

testEachLibrary("a rank that never answers is a failure that names both", async (mpiexec) => {
  const { code, printed } = await play(mpiexec, 2, "silence");
  assert.notEqual(code, 0);
  const host = Deno.hostname();
  const message = `Failure: rank 0 on ${host} waited 1 s to receive 5.0 MB from rank 1 on ${host}`;
  assert.equal(printed.split("\n").filter((line) => line === message).length, 2, printed);
});

testEachLibrary(
  "how long a message may take can be said anew",
  async (mpiexec) => {
    const { printed } = await play(mpiexec, 2, "patience");
    assert.match(printed, /^it came$/m);
    assert.match(printed, /^Failure: rank 0 on \S+ waited 0\.5 s to receive 5\.0 MB from rank 1/m);
  },
);

testEachLibrary(
  "a rank says that it waits for others to begin, and goes on with them",
  async (mpiexec) => {
    const { code, printed } = await playUntil(
      mpiexec,
      2,
      "late",
      "has waited 0.5 s for the others",
    );
    assert.equal(code, 0, printed);
    const said = printed.match(/^Rank 0 of 2 on \S+ has waited .* through (Open MPI|MPICH) .*$/gm);
    assert.equal(said?.length, 1, printed);
    assert.equal(printed.match(/^rank [01] was joined$/gm)?.length, 2, printed);
  },
);

testEachLibrary("a message shorter than expected is an error", async (mpiexec) => {
  const { printed } = await play(mpiexec, 2, "short");
  assert.match(printed, /^Failure: rank 0 expects 8 bytes of rank 1, not 4$/m);
});

testEachLibrary("a rank that dies takes the others with it", async (mpiexec) => {
  const { code, printed } = await play(mpiexec, 3, "death");
  assert.notEqual(code, 0);
  const pids = [...printed.matchAll(/^pid (\d+)$/gm)].map(([, pid]) => Number(pid));
  assert.equal(pids.length, 3, printed);
  for (const pid of pids) await gone(pid);
});
