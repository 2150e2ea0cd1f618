import assert from "node:assert/strict";
import { EventFeed } from "../../../src/server/runs/event_feed.ts";

const told = (feed: EventFeed, run: string) =>
  new Promise<void>((resolve) => {
    const end = feed.follow(run, () => {
      end();
      resolve();
    });
  });

Deno.test("event feed: all who follow a run are woken, once for what comes together, and nobody else", async () => {
  using feed = new EventFeed();
  const woken: string[] = [];
  feed.follow("one", () => void woken.push("first"));
  feed.follow("two", () => void woken.push("other"));
  const end = feed.follow("one", () => void woken.push("gone"));
  end();
  const last = told(feed, "one");
  for (let event = 0; event < 3; event++) feed.tell("one");
  await last;
  assert.deepEqual(woken, ["first"]);
  // What is told while they rest is not lost.
  const again = told(feed, "one");
  feed.tell("one");
  await again;
  assert.deepEqual(woken, ["first", "first"]);
});

Deno.test("event feed: one who fails keeps nobody from being woken, and all are at its end", async () => {
  const { error } = console;
  const said: unknown[] = [];
  console.error = (problem) => void said.push(problem);
  try {
    const feed = new EventFeed();
    feed.follow("one", () => {
      throw new Error("broken");
    });
    let woken = 0;
    const first = new Promise<void>((resolve) => {
      feed.follow("one", () => {
        woken++;
        resolve();
      });
    });
    feed.tell("one");
    await first;
    assert.equal(woken, 1);
    feed[Symbol.dispose]();
    assert.equal(woken, 2);
  } finally {
    console.error = error;
  }
  assert.deepEqual(said.map(String), ["Error: broken", "Error: broken"]);
});
