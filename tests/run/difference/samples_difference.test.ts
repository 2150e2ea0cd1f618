import assert from "node:assert/strict";
import { join } from "node:path";
import {
  samplesDifference,
  type TextDifference,
} from "../../../src/run/difference/samples_difference.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";

/** How two solutions differ, each given by its tokens; of texts, none are kept. */
function differenceOf(
  a: readonly string[] | string,
  b: readonly string[] | string,
): Omit<TextDifference, "sample" | "of"> | null {
  const root = Deno.makeTempDirSync();
  try {
    const [first, second] = [a, b].map((written, run) => {
      const folder = RunFolder.create(join(root, `${run}`), {});
      const solution = typeof written === "string" ? written : written.join("");
      const tokens = typeof written === "string"
        ? {}
        : { tokens: { lengths: written.map(({ length }) => length), advantages: [] } };
      const sample = { step: 1, phase: "generator", problem: "p", solution, critiques: [] };
      Deno.writeTextFileSync(folder.samples, `${JSON.stringify({ ...sample, ...tokens })}\n`);
      return folder;
    });
    const found = samplesDifference({ a: first, b: second }, { step: 1, phase: "generator" });
    if (found === null) return null;
    const { sample, of, ...difference } = found;
    assert.deepEqual([sample, of], [1, "solution"]);
    return difference;
  } finally {
    Deno.removeSync(root, { recursive: true });
  }
}

Deno.test("two samples: the first token that is another, and where it lies in both texts", () => {
  assert.equal(differenceOf(["same", ""], ["same", ""]), null);
  assert.deepEqual(differenceOf(["The ", "dog", " is"], ["The ", "donkey", " is"]), {
    ...{ token: 2, begin: 4 },
    ...{ a: { text: "The dog is", end: 7 }, b: { text: "The donkey is", end: 10 } },
  });
  // Of one the end of the response is the token that differs.
  assert.deepEqual(differenceOf(["a", "b", ""], ["a", "b", "cd", ""]), {
    ...{ token: 3, begin: 2 },
    ...{ a: { text: "ab", end: 2 }, b: { text: "abcd", end: 4 } },
  });
  // The other was cut off there.
  assert.deepEqual(differenceOf(["a", "b"], ["a", "b", "c"]), {
    ...{ token: 3, begin: 2 },
    ...{ a: { text: "ab", end: 2 }, b: { text: "abc", end: 3 } },
  });
  // What is cut otherwise is another token, though its text begins alike.
  assert.deepEqual(differenceOf(["ab", "c"], ["a", "bd"]), {
    ...{ token: 1, begin: 0 },
    ...{ a: { text: "abc", end: 2 }, b: { text: "abd", end: 1 } },
  });
});

Deno.test("two samples: where no tokens are kept, the first character; none is cut in two", () => {
  assert.deepEqual(differenceOf("a😀b", "a😁b"), {
    ...{ token: null, begin: 1 },
    ...{ a: { text: "a😀b", end: 3 }, b: { text: "a😁b", end: 3 } },
  });
  assert.deepEqual(differenceOf("ab", ["a", "b", "c"]), {
    ...{ token: null, begin: 2 },
    ...{ a: { text: "ab", end: 2 }, b: { text: "abc", end: 3 } },
  });
});
