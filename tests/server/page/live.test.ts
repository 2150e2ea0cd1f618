import assert from "node:assert/strict";
import { jsonLines } from "../../../src/server/page/live/json_lines.ts";
import { keepLoaded } from "../../../src/server/page/live/keep_loaded.ts";

/** Loads that the test answers by hand. */
function heldLoads() {
  const loads: PromiseWithResolvers<string>[] = [];
  const waiting: (() => void)[] = [];
  const told: string[] = [];
  const load = (signal: AbortSignal) => {
    const one = Promise.withResolvers<string>();
    signal.addEventListener("abort", () => one.reject(new Error("aborted")));
    loads.push(one);
    waiting.shift()?.();
    return one.promise;
  };
  const begun = async (number: number) => {
    while (loads.length < number) await new Promise<void>((resolve) => waiting.push(resolve));
    return loads[number - 1];
  };
  const loading = keepLoaded(
    load,
    (answer) => void told.push(answer),
    (error) => void told.push(error.message),
    { everyMs: 0, retryMs: 0 },
  );
  return { loading, loads, begun, told };
}

Deno.test("page's loading: what is out of date while it loads is loaded once more, not given up", async () => {
  const { loading, loads, begun, told } = heldLoads();
  const first = await begun(1);
  for (let step = 0; step < 5; step++) loading.refresh();
  assert.equal(loads.length, 1);
  first.resolve("old");
  (await begun(2)).resolve("new");
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual([told, loads.length], [["old", "new"], 2]);
  loading.refresh();
  (await begun(3)).resolve("newest");
  await Promise.resolve();
  loading.end();
});

Deno.test("page's loading: tries again after an error, and is silent once it is ended", async () => {
  const { loading, loads, begun, told } = heldLoads();
  (await begun(1)).reject(new Error("gone"));
  (await begun(2)).resolve("back");
  await new Promise((resolve) => setTimeout(resolve, 5));
  loading.refresh();
  await begun(3);
  loading.end();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual([told, loads.length], [["gone", "back"], 3]);
});

Deno.test("page's lines: whole ones, wherever the pieces of a body are cut", async () => {
  const text = '{"type":"solution","text":"ä\\n→"}\n\n{"a":1}\n{"cut":';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 3, 7, bytes.length]) {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) {
          controller.enqueue(bytes.slice(at, at + size));
        }
        controller.close();
      },
    });
    const lines = await Array.fromAsync(jsonLines(body));
    assert.deepEqual(lines, [{ type: "solution", text: "ä\n→" }, { a: 1 }], String(size));
  }
});
