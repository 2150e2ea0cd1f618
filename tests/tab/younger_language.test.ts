import assert from "node:assert/strict";
import { Stack } from "../../src/tab/worker/younger_language.ts";

Deno.test("younger language: a stack disposes as the language's own does", () => {
  for (const Kind of [Stack, DisposableStack as unknown as typeof Stack]) {
    const said: string[] = [];
    const value = { [Symbol.dispose]: () => said.push("value") };
    const moved = (() => {
      using stack = new Kind();
      stack.defer(() => said.push("first"));
      stack.use(value as unknown as Disposable);
      stack.defer(() => said.push("last"));
      return stack.move();
    })();
    assert.equal(said.length, 0);
    moved.dispose();
    moved.dispose();
    assert.deepEqual(said, ["last", "value", "first"], Kind.name);
    const failing = new Kind();
    failing.defer(() => said.push("after the failure"));
    failing.defer(() => {
      throw new Error("words");
    });
    assert.throws(() => failing.dispose(), /words/);
    assert.equal(said.at(-1), "after the failure");
  }
});
