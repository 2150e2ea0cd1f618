/** One rank of the tests: plays the scenario that is named and prints what it found as one line of JSON. */

import { existsSync } from "node:fs";
import process from "node:process";
import { barrier } from "../../../src/distributed/collectives.ts";
import type { Communicator } from "../../../src/distributed/communicator.ts";
import { startedBy } from "../../../src/distributed/mpi/started_by.ts";
import { openCommunicator } from "../../../src/distributed/open_communicator.ts";
import { gatherValues } from "../../../src/distributed/values.ts";
import { Failure } from "../../../src/base/failure.ts";

const [scenario, sign = ""] = Deno.args;
const timeLimitSeconds = ["exchange", "late"].includes(scenario) ? 60 : 1;
const pause = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds));
if (scenario === "late" && startedBy((name) => Deno.env.get(name))?.rank === 1) {
  while (existsSync(sign)) await pause(20);
}
const noticeSeconds = scenario === "late" ? 0.5 : 60;
const opened = await openCommunicator({ timeLimitSeconds, noticeSeconds });
const { communicator, places, library } = opened;
const { rank, size } = communicator;
const others = Array.from({ length: size }, (_, r) => r).filter((r) => r !== rank);

/** Bytes that say where they come from and which they are. */
function pattern(length: number, from: number, message: number): Uint8Array {
  const bytes = new Uint8Array(length);
  const step = 1 + 2 * from + 16 * message;
  for (let i = 0; i < length; i++) bytes[i] = i * step + (i >> 8);
  return bytes;
}

const same = (a: Uint8Array, b: Uint8Array) => a.every((byte, i) => byte === b[i]);

/** Sends messages to all others and receives theirs, all at once; whether all came as they were sent. */
async function exchange(over: Communicator, lengths: readonly number[]): Promise<boolean> {
  const received = others.flatMap((from) =>
    lengths.map((length, message) => ({ from, message, bytes: new Uint8Array(length) }))
  );
  await Promise.all([
    ...received.map(({ from, bytes }) => over.receive(bytes, from)),
    ...lengths.flatMap((length, message) => {
      const bytes = pattern(length, rank, message);
      return others.map((to) => over.send(bytes, to));
    }),
  ]);
  return received.every(({ from, message, bytes }) =>
    same(bytes, pattern(bytes.length, from, message))
  );
}

/** What of the second channel was sent first comes out second. */
async function channelsApart(): Promise<boolean> {
  const [to, from] = [(rank + 1) % size, (rank + size - 1) % size];
  const [first, second] = [new Uint8Array(1), new Uint8Array(1)];
  const sent = [
    communicator.channel(1).send(Uint8Array.of(1), to),
    communicator.send(Uint8Array.of(0), to),
  ];
  await communicator.receive(first, from);
  await communicator.channel(1).receive(second, from);
  await Promise.all(sent);
  return first[0] === 0 && second[0] === 1;
}

/** Seconds of processor time that a rank takes in a second of waiting for another. */
async function burntWhileWaiting(): Promise<number> {
  await barrier(communicator);
  if (rank === 0) {
    await pause(1000);
    for (const to of others) await communicator.send(new Uint8Array(1), to);
    return 0;
  }
  const before = process.cpuUsage(), start = performance.now();
  await communicator.receive(new Uint8Array(1), 0);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e3 / (performance.now() - start);
}

switch (scenario) {
  case "exchange": {
    const before = communicator.bytesSent;
    const found = {
      rank,
      size,
      library,
      places,
      gathered: await gatherValues(communicator, `from ${rank}`),
      none: await exchange(communicator, [0]),
      small: await exchange(communicator, [1]),
      large: await exchange(communicator, [64e6 + 3]),
      many: await exchange(communicator, Array.from({ length: 300 }, (_, m) => 17 * m)),
      channels: await channelsApart(),
      burnt: await burntWhileWaiting(),
      sent: communicator.bytesSent - before,
    };
    const all = await gatherValues(communicator, found);
    if (rank === 0) console.log(JSON.stringify(all));
    await opened.close();
    break;
  }
  case "late":
    await opened.close();
    console.log(`rank ${rank} was joined`);
    break;
  case "silence": // rank 1 lives, and says nothing
    if (rank === 1) await pause(30_000);
    await explain(communicator.receive(new Uint8Array(5e6), 1));
    // What comes after it fails in the same way, at once.
    await explain(communicator.send(new Uint8Array(1), 1));
    Deno.exit(3);
    break;
  case "patience": // rank 1 takes longer than the limit that was
    opened.waitAtMost(60);
    if (rank === 1) {
      await pause(1500);
      await communicator.send(new Uint8Array(1), 0);
      await pause(30_000);
    }
    await communicator.receive(new Uint8Array(1), 1);
    console.log("it came");
    opened.waitAtMost(0.5);
    await explain(communicator.receive(new Uint8Array(5e6), 1));
    Deno.exit(3);
    break;
  case "short": // rank 1 sends less than is expected
    if (rank === 1) {
      await communicator.send(new Uint8Array(4), 0);
      await pause(30_000); // a launcher ends rank 0, before it has spoken, when this one ends first
    }
    await explain(communicator.receive(new Uint8Array(8), 1));
    Deno.exit(3);
    break;
  case "death":
    console.log(`pid ${Deno.pid}`);
    await barrier(communicator);
    if (rank === 1) Deno.kill(Deno.pid, "SIGKILL");
    await pause(30_000);
}
Deno.exit(0);

async function explain(promise: Promise<void>): Promise<void> {
  try {
    await promise;
  } catch (error) {
    const kind = error instanceof Failure ? "Failure" : "Error";
    console.log(`${kind}: ${error instanceof Error ? error.message : error}`);
  }
}
