import assert from "node:assert/strict";
import http2 from "node:http2";
import { withAttacked } from "./attacked.ts";

/** One request over HTTP/2 from its first byte, as a client does that knows that the server speaks it. */
async function ask(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Iterable<Uint8Array> = [],
): Promise<{ status: number; text: string; sent: number }> {
  const session = http2.connect(url);
  try {
    const stream = session.request({ ...headers });
    const decoder = new TextDecoder();
    let [status, text, sent] = [0, "", 0];
    stream.on("response", (answered) => status = Number(answered[":status"]));
    const ended = new Promise<void>((resolve) => {
      stream.on("data", (part: Uint8Array) => text += decoder.decode(part, { stream: true }));
      stream.on("end", resolve);
      stream.on("close", resolve);
      // The server takes no more of a body that it has refused.
      stream.on("error", () => resolve());
    });
    for (const part of body) {
      if (status !== 0) break;
      sent += part.length;
      await new Promise<void>((resolve) => {
        stream.write(part, () => resolve());
        void ended.then(resolve);
      });
    }
    stream.end();
    await ended;
    return { status, text, sent };
  } finally {
    session.destroy();
  }
}

Deno.test("hostile: over HTTP/2 the same names are answered, and a body is read as far as it may be long", async () => {
  await withAttacked(async ({ host, assertUntouched }) => {
    const url = `http://${host}`;
    const { status, text } = await ask(url, { ":path": "/api/runs" });
    assert.equal(status, 200, text);
    assert.equal(JSON.parse(text).runs[0].id, "one");
    const evil = { ":path": "/api/runs", ":authority": "evil.example" };
    assert.equal((await ask(url, evil)).status, 403);
    const page = { ":path": "/api/runs", origin: "http://evil.example" };
    assert.equal((await ask(url, page)).status, 403);
    const post = { ":path": "/api/runs", ":method": "POST", "content-type": "application/json" };
    const small = [new TextEncoder().encode('{"kind": "none"}')];
    assert.equal((await ask(url, post, small)).status, 422);
    assert.equal((await ask(url, { ...post, "content-type": "text/plain" }, small)).status, 415);
    const { "content-type": _, ...untyped } = post;
    assert.equal((await ask(url, untyped, small)).status, 415);
    const endless = function* () {
      for (let part = 0; part < 1000; part++) yield new Uint8Array(1 << 18).fill(0x20);
    };
    const large = await ask(url, post, endless());
    assert.equal(large.status, 413, large.text);
    assert.ok(large.sent < 50 << 20, `${large.sent} bytes were taken`);
    await assertUntouched();
  });
});
