/** Rank 0's port is open to anyone on the network, and nothing that comes in ends the run. */

import assert from "node:assert/strict";
import { Door, type DoorLimits } from "../../../src/distributed/watch/door.ts";
import { LONGEST_LINE } from "../../../src/distributed/watch/line_connection.ts";
import type { FollowerMessage } from "../../../src/distributed/watch/watch_messages.ts";

/** A door, what came in through it, and how to knock. */
class OpenDoor implements Disposable {
  readonly #port = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly heard: FollowerMessage[] = [];
  readonly #farewell = Promise.withResolvers<void>();
  /** Resolves when an admitted connection has ended. */
  readonly ended = this.#farewell.promise;
  readonly door: Door;

  /** Limits far longer than a test, but for the one that is tested. */
  constructor(limits: Partial<DoorLimits> = {}) {
    const all = { strangers: 8, seconds: 600, ...limits };
    this.door = new Door(this.#port, all, (hello, connection) => {
      if (hello.token !== "the token") return null;
      connection.send({ type: "welcome" });
      return {
        hear: (message) => this.heard.push(message),
        ended: () => this.#farewell.resolve(),
      };
    });
  }

  async knock(): Promise<Visitor> {
    return new Visitor(await Deno.connect({ hostname: "127.0.0.1", port: this.#port.addr.port }));
  }

  [Symbol.dispose](): void {
    this.door.close();
  }
}

class Visitor {
  constructor(private readonly connection: Deno.TcpConn) {}

  /** Says something; whether it is all heard does not matter. */
  async say(text: string): Promise<void> {
    const writer = this.connection.writable.getWriter();
    await writer.write(new TextEncoder().encode(text)).catch(() => {});
    writer.releaseLock();
  }

  /** What comes; "" when the door shows this visitor out. */
  async answer(): Promise<string> {
    const part = new Uint8Array(1000);
    const count = await this.connection.read(part).catch((error) => {
      if (error instanceof Deno.errors.ConnectionReset) return null;
      throw error;
    });
    return new TextDecoder().decode(part.subarray(0, count ?? 0));
  }

  leave(): void {
    try {
      this.connection.close();
    } catch (error) {
      if (!(error instanceof Deno.errors.BadResource)) throw error;
    }
  }
}

const hello = (token: string) => `${JSON.stringify({ type: "hello", rank: 1, token })}\n`;

const strange = {
  "another protocol": "GET / HTTP/1.0\r\n\r\n",
  "JSON that is no message": "null\n",
  "a message of another type": '{"type":"open"}\n',
  "a hello without a rank": '{"type":"hello","token":"the token"}\n',
  "a message before hello": '{"type":"bye"}\n',
  "a wrong token": hello("another"),
  "bytes that are no text": "\0\x01\x7f\n",
  "a line without end": "x".repeat(4 * LONGEST_LINE),
};

for (const [name, text] of Object.entries(strange)) {
  Deno.test(`door: ${name} is shown out, and a rank comes in after it`, async () => {
    using open = new OpenDoor();
    const stranger = await open.knock();
    await stranger.say(text);
    assert.equal(await stranger.answer(), "");
    stranger.leave();
    await cameIn(open);
    assert.deepEqual(open.heard, [{ type: "beat", doing: "in a test" }]);
  });
}

Deno.test("door: who says nothing is shown out after a time", async () => {
  using open = new OpenDoor({ seconds: 0.05 });
  const stranger = await open.knock();
  assert.equal(await stranger.answer(), "");
  stranger.leave();
});

Deno.test("door: more strangers than there is room for are turned away, until some leave", async () => {
  using open = new OpenDoor({ strangers: 2 });
  const [first, second, third] = [await open.knock(), await open.knock(), await open.knock()];
  assert.equal(await third.answer(), "");
  await second.say("garbage\n");
  assert.equal(await second.answer(), "");
  await cameIn(open);
  for (const visitor of [first, second, third]) visitor.leave();
});

Deno.test("door: what an admitted rank may not say ends its connection", async () => {
  using open = new OpenDoor();
  const rank = await open.knock();
  await rank.say(hello("the token"));
  assert.match(await rank.answer(), /welcome/);
  await rank.say('null\n{"type":"bye"}\n');
  assert.equal(await rank.answer(), "");
  await open.ended;
  assert.deepEqual(open.heard, []);
  rank.leave();
});

Deno.test("door: closing it shows strangers out, and leaves those in who were admitted", async () => {
  using open = new OpenDoor();
  const [stranger, rank] = [await open.knock(), await open.knock()];
  await rank.say(hello("the token"));
  assert.match(await rank.answer(), /welcome/);
  open.door.close();
  assert.equal(await stranger.answer(), "");
  await assert.rejects(open.knock(), Deno.errors.ConnectionRefused);
  await rank.say('{"type":"bye"}\n');
  rank.leave();
  await open.ended;
  assert.deepEqual(open.heard, [{ type: "bye" }]);
  stranger.leave();
});

/** A rank joins, says one thing and leaves. */
async function cameIn(open: OpenDoor): Promise<void> {
  const rank = await open.knock();
  await rank.say(hello("the token"));
  assert.match(await rank.answer(), /welcome/);
  await rank.say('{"type":"beat","doing":"in a test"}\n');
  rank.leave();
  await open.ended;
}
