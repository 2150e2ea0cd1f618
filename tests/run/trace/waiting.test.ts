import assert from "node:assert/strict";
import fc from "fast-check";
import { clockOffset } from "../../../src/distributed/clock_offset.ts";
import { timedCommunicator, type Transfer } from "../../../src/distributed/timed_communicator.ts";
import {
  lengthOf,
  type TimeInterval,
  union,
  within,
  without,
} from "../../../src/run/trace/intervals.ts";
import { Waiting } from "../../../src/run/trace/waiting.ts";
import { inProcess, onRanks } from "../../distributed/in_process.ts";

Deno.test("intervals: joined, taken away, cut", () => {
  assert.deepEqual(union([[5, 7], [1, 2], [2, 3], [6, 9], [4, 4]]), [[1, 3], [5, 9]]);
  assert.deepEqual(without([[0, 10], [20, 30]], [[2, 3], [5, 22], [29, 40]]), [
    [0, 2],
    [3, 5],
    [22, 29],
  ]);
  assert.deepEqual(within([[0, 4], [6, 9], [10, 12]], [3, 10]), [[3, 4], [6, 9]]);
  // Against counting milliseconds one by one.
  const interval = fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 40 }));
  const some = fc.array(interval, { maxLength: 6 });
  fc.assert(fc.property(some, some, (a, b) => {
    const covers = (intervals: readonly TimeInterval[], t: number) =>
      intervals.some(([begin, end]) => begin <= t && t < end);
    const left = without(a, b);
    let expected = 0;
    for (let t = 0; t < 40; t++) if (covers(a, t) && !covers(b, t)) expected++;
    assert.equal(lengthOf(left), expected);
    assert.ok(left.every(([begin, end], i) => begin < end && (i === 0 || left[i - 1][1] < begin)));
  }));
});

const transfer = (
  kind: Transfer["kind"],
  peer: number,
  [begin, end]: TimeInterval,
  channel = 0,
): Transfer => ({ kind, peer, channel, bytes: 8, begin, end });

Deno.test("waiting: until the other begins to send it is idle, then bytes are on their way", () => {
  const [sender, receiver] = new Waiting().find([
    { transfers: [transfer("send", 1, [50, 60])], busy: [[0, 48]] },
    { transfers: [transfer("receive", 0, [10, 65])], busy: [[0, 20]] },
  ]);
  assert.deepEqual(sender, { idle: [], communicating: [[50, 60]] });
  // Its GPU had something to do until 20.
  assert.deepEqual(receiver, { idle: [[20, 50]], communicating: [[50, 65]] });
});

Deno.test("waiting: messages are told apart by sender, receiver, channel and their order", () => {
  const waiting = new Waiting();
  const found = waiting.find([
    {
      transfers: [
        transfer("send", 2, [9, 10]),
        transfer("send", 2, [1, 2]),
        transfer("send", 2, [30, 31], 7),
      ],
      busy: [],
    },
    { transfers: [transfer("send", 2, [4, 5])], busy: [] },
    {
      transfers: [
        transfer("receive", 0, [0, 3]),
        transfer("receive", 0, [6, 10]),
        transfer("receive", 0, [20, 32], 7),
        transfer("receive", 1, [4, 6]),
      ],
      busy: [],
    },
  ]);
  assert.deepEqual(found[2].idle, [[0, 1], [6, 9], [20, 30]]);
  // Received before its sender said that it was sent: counted as on its way, and not mistaken for the next one.
  const early = waiting.find([
    { transfers: [], busy: [] },
    { transfers: [], busy: [] },
    { transfers: [transfer("receive", 1, [40, 44])], busy: [] },
  ]);
  assert.deepEqual(early[2], { idle: [], communicating: [[40, 44]] });
  const late = waiting.find([
    { transfers: [], busy: [] },
    { transfers: [transfer("send", 2, [41, 43]), transfer("send", 2, [55, 56])], busy: [] },
    { transfers: [transfer("receive", 1, [50, 57])], busy: [] },
  ]);
  assert.deepEqual(late[2].idle, [[50, 55]]);
});

Deno.test("a timed communicator tells of every message, on all channels", async () => {
  let time = 0;
  const heard: Transfer[][] = [[], []];
  const [one, other] = inProcess(2).map((inner, rank) =>
    timedCommunicator(inner, (transfer) => heard[rank].push(transfer), () => time++)
  );
  await one.send(new Uint8Array(3), 1);
  await one.channel(4).send(new Uint8Array(5), 1);
  await other.channel(4).receive(new Uint8Array(5), 0);
  await other.receive(new Uint8Array(3), 0);
  const brief = (transfers: readonly Transfer[]) =>
    transfers.map(({ kind, peer, channel, bytes }) => [kind, peer, channel, bytes]);
  assert.deepEqual(brief(heard[0]), [["send", 1, 0, 3], ["send", 1, 4, 5]]);
  assert.deepEqual(brief(heard[1]), [["receive", 0, 4, 5], ["receive", 0, 0, 3]]);
  assert.ok(heard.flat().every(({ begin, end }) => end > begin));
  assert.equal(one.bytesSent, 8);
});

Deno.test("clocks that are apart are brought together", async () => {
  const ahead = [0, 5000, -320.5];
  const offsets = await onRanks(3, (communicator) => {
    const clock = () => performance.now() + ahead[communicator.rank];
    return clockOffset(communicator, clock);
  });
  // Within half of the time that an exchange of two tasks takes, even on a busy machine.
  offsets.forEach((offset, rank) => assert.ok(Math.abs(offset + ahead[rank]) < 150, `${offset}`));
  assert.equal(offsets[0], 0);
});
