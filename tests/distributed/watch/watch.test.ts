/** Whatever becomes of one rank, all processes end, and one of them says why. */

import assert from "node:assert/strict";
import { TwoHosts } from "../two_hosts.ts";
import { type RankOutcome, WatchedRanks } from "./watched_ranks.ts";

const hint = "Continue with: --resume";

/** All ended, with that code but for those that were killed; only `speaker` said something on standard error. */
function assertOneSpoke(
  outcomes: readonly RankOutcome[],
  speaker: number,
  message: RegExp,
  { code = 1, killed = [] }: { readonly code?: number; readonly killed?: readonly number[] } = {},
): void {
  outcomes.forEach((outcome, rank) => {
    const told = `rank ${rank}: ${JSON.stringify(outcome)}`;
    if (killed.includes(rank)) assert.equal(outcome.signal, "SIGKILL", told);
    else assert.equal(outcome.code, code, told);
    if (rank !== speaker) assert.equal(outcome.errors, "", told);
  });
  assert.match(outcomes[speaker].errors, message);
  // What rank 0 says may end before the others have heard how to go on.
  if (speaker === 0) assert.match(outcomes[0].errors, new RegExp(`${hint}\n$`));
  assert.equal(outcomes[speaker].errors.match(/The run has ended/g)?.length, 1);
}

Deno.test("watch: ranks that are done end without a word", async () => {
  const ranks = await WatchedRanks.start("all finish");
  ranks.go(null);
  for (const { code, errors, lines } of await ranks.outcomes()) {
    assert.deepEqual({ code, errors, lines }, { code: 0, errors: "", lines: ["done"] });
  }
});

Deno.test("watch: what strangers send to rank 0's port ends nothing", async () => {
  const strangers: Deno.TcpConn[] = [];
  const ranks = await WatchedRanks.start("all finish", undefined, async ({ port }) => {
    for (const words of ["GET / HTTP/1.0\r\n\r\n", "null\n", ""]) {
      const stranger = await Deno.connect({ hostname: "127.0.0.1", port });
      await stranger.write(new TextEncoder().encode(words));
      strangers.push(stranger);
    }
  });
  ranks.go(null);
  const outcomes = await ranks.outcomes();
  assert.deepEqual(outcomes.map(({ code, errors }) => [code, errors]), [[0, ""], [0, ""], [0, ""]]);
  for (const stranger of strangers) stranger.close();
});

Deno.test("watch: a rank that is killed ends all, and rank 0 says so", async () => {
  const ranks = await WatchedRanks.start("works");
  ranks.signal(2, "SIGKILL");
  assertOneSpoke(
    await ranks.outcomes(),
    0,
    /because of rank 2 on here \(GPU 2\)\.\nIts process ended without a word, (in a test|starting)\./,
    { killed: [2] },
  );
});

Deno.test("watch: a rank that is stopped ends all, itself too", async () => {
  const ranks = await WatchedRanks.start("works");
  ranks.signal(1, "SIGSTOP");
  assertOneSpoke(
    await ranks.outcomes(),
    0,
    /because of rank 1 on here \(GPU 1\)\.\nNot a word for 3 s, (in a test|starting)\./,
    { killed: [1] },
  );
});

Deno.test({
  name: "watch: a rank that has ended but for what it holds counts as ended, not as silent",
  ignore: Deno.build.os !== "linux", // a process is made to do so by a system call
  fn: async () => {
    for (const rank of [0, 2]) {
      const ranks = await WatchedRanks.start("ends but for a thread");
      ranks.go(rank);
      await ranks.mainThreadEnded(rank);
      ranks.signal(rank, "SIGSTOP");
      const speaker = rank === 0 ? 1 : 0;
      await ranks.ended(speaker);
      ranks.signal(rank, "SIGKILL");
      const who = new RegExp(
        `because of rank ${rank} on here \\(GPU ${rank}\\)\\.\nIts process ended without a word`,
      );
      assertOneSpoke(await ranks.outcomes(), speaker, who, { killed: [rank] });
    }
  },
});

Deno.test("watch: the first of the others speaks for a rank 0 that is killed or stopped", async () => {
  for (const [signal, cause] of [["SIGKILL", "ended without a word"], ["SIGSTOP", "Not a word"]]) {
    const ranks = await WatchedRanks.start("works");
    ranks.signal(0, signal as Deno.Signal);
    assertOneSpoke(
      await ranks.outcomes(),
      1,
      new RegExp(`because of rank 0 on here \\(GPU 0\\)\\.\n.*${cause}.*(in a test|starting)\\.`),
      { killed: [0] },
    );
  }
});

Deno.test("watch: ranks that are done watch on while another is not", async () => {
  for (
    const [struck, signal, speaker, cause] of [
      [0, "SIGSTOP", 1, "Not a word for 3 s"],
      [2, "SIGKILL", 0, "Its process ended without a word"],
    ] as const
  ) {
    const ranks = await WatchedRanks.start("finishes late");
    ranks.go(0);
    for (const rank of [1, 2]) assert.equal(await ranks.next(rank), "finished");
    await new Promise((resolve) => setTimeout(resolve, 500)); // in which rank 0 hears of it
    ranks.signal(struck, signal);
    const who = new RegExp(
      `because of rank ${struck} on here \\(GPU ${struck}\\)\\.\n${cause}, (in a test|starting)\\.`,
    );
    assertOneSpoke(await ranks.outcomes(), speaker, who, { killed: [struck] });
  }
});

for (const task of ["is stuck", "waits for its GPU"]) {
  Deno.test(`watch: a rank whose main thread ${task} ends all, whichever it is`, async () => {
    for (const rank of [0, 2]) {
      const ranks = await WatchedRanks.start(task);
      ranks.go(rank);
      const who = new RegExp(
        `because of rank ${rank} on here \\(GPU ${rank}\\)\\.\nIt has been stuck for 4 s`,
      );
      assertOneSpoke(await ranks.outcomes(), 0, who);
    }
  });
}

Deno.test("watch: a rank that fails leaves it to rank 0 to say why", async () => {
  const ranks = await WatchedRanks.start("fails");
  ranks.go(1);
  assertOneSpoke(
    await ranks.outcomes(),
    0,
    /because of rank 1 on here \(GPU 1\)\.\nthe same file is missing\n/,
    { code: 2 },
  );
});

Deno.test("watch: a failure that is another's echo waits for that one", async () => {
  const ranks = await WatchedRanks.start("fails late");
  ranks.go(2);
  assertOneSpoke(
    await ranks.outcomes(),
    0,
    /because of rank 2 on here \(GPU 2\)\.\nthe cause of it all\n/,
    { code: 2 },
  );
});

Deno.test("watch: what all are told of one rank is said of that one, and by it if it can", async () => {
  for (
    const [task, words, code] of [
      ["is told of another's failure", "the cause in full", 1],
      ["is told of another's mistake", "the reward is no number", 2],
    ] as const
  ) {
    const ranks = await WatchedRanks.start(task);
    ranks.go(1);
    const message = new RegExp(`because of rank 1 on here \\(GPU 1\\)\\.\n${words}\n`);
    assertOneSpoke(await ranks.outcomes(), 0, message, { code });
  }
});

Deno.test("watch: rank 0 says itself what is its own failure, or that of all", async () => {
  for (const [task, one] of [["fails", 0], ["all fail", null]] as const) {
    const ranks = await WatchedRanks.start(task);
    ranks.go(one);
    const outcomes = await ranks.outcomes();
    assert.deepEqual(outcomes.map(({ code, errors }) => ({ code, errors })), [
      { code: 2, errors: "" },
      { code: 2, errors: "" },
      { code: 2, errors: "" },
    ]);
    const threw = "threw the same file is missing";
    assert.deepEqual(outcomes.map(({ lines }) => lines), [[threw], [], []]);
  }
});

Deno.test("watch: a host that is cut off ends too, and says why there", async () => {
  using network = TwoHosts.make();
  if (network === null) return console.log("this process may not make network namespaces");
  const [a, b] = network.hosts;
  const ranks = await WatchedRanks.start("works", [a, a, b, b]);
  network.cut();
  const outcomes = await ranks.outcomes();
  assert.deepEqual(outcomes.map(({ code }) => code), [1, 1, 1, 1]);
  assert.match(
    outcomes[0].errors,
    /because of ranks 2 and 3 on host-b \(GPU 2, GPU 3\)\.\nNot a word/,
  );
  assert.match(outcomes[2].errors, /because of rank 0 on host-a \(GPU 0\)\.\nNot a word/);
  assert.deepEqual([outcomes[1].errors, outcomes[3].errors], ["", ""]);
});
