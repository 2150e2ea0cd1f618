import assert from "node:assert/strict";
import fc from "fast-check";
import type { Sample } from "../../../src/run/store/samples_log.ts";
import type { SampleTokens } from "../../../src/run/store/sample_tokens.ts";
import { cutTokens, tokenText, trainedText } from "../../../src/server/page/samples/cut_tokens.ts";
import {
  describeToken,
  numbersOf,
  scaleOf,
  shadeOf,
} from "../../../src/server/page/samples/token_shades.ts";
import { packNumbers } from "../../../src/run/store/packed_numbers.ts";

const recordOf = (texts: readonly string[]): SampleTokens => ({
  lengths: packNumbers(texts.map(({ length }) => length)),
  advantages: packNumbers(texts.map((_, i) => i / 10)),
  logProbDifferences: packNumbers(texts.map(() => 0)),
});

Deno.test("tokens: a text is cut where they end, a token over two parts has a piece in each", () => {
  // "ab" · "c<" over a border · a part of a character · the character · the end.
  const ends = [2, 4, 4, 6, 6];
  assert.deepEqual(cutTokens(["abc", "<😀"], ends), [
    [{ text: "ab", token: 0 }, { text: "c", token: 1 }],
    [
      { text: "<", token: 1 },
      { text: "", token: 2 },
      { text: "😀", token: 3 },
      { text: "", token: 4 },
    ],
  ]);
  assert.equal(tokenText({ text: "abc<😀", ends }, 1), "c<");
  assert.equal(tokenText({ text: "abc<😀", ends }, 4), "");
});

const texts = fc.array(fc.constantFrom("", "a", "</step>", "\n", "é", "😀", "&lt;"));

Deno.test("tokens: no letter is lost and every token is there, however text and tokens are cut", () => {
  fc.assert(fc.property(texts, fc.array(fc.nat({ max: 40 })), (tokens, borders) => {
    const solution = tokens.join("");
    const places = [0, ...borders.filter((at) => at < solution.length), solution.length]
      .toSorted((a, b) => a - b);
    const parts = places.slice(1).map((end, i) => solution.slice(places[i], end));
    const sample = { solution, tokens: recordOf(tokens), critiques: [] };
    const trained = trainedText(sample);
    assert(trained);
    const pieces = cutTokens(parts, trained.ends);
    assert.deepEqual(pieces.map((part) => part.map(({ text }) => text).join("")), parts);
    for (const [token, expected] of tokens.entries()) {
      const own = pieces.flat().filter((piece) => piece.token === token);
      assert(own.length > 0);
      assert.equal(own.map(({ text }) => text).join(""), expected);
      assert.equal(tokenText(trained, token), expected);
    }
  }));
});

Deno.test("tokens: those of what was trained, and none that do not fit", () => {
  const critique = { version: 0, text: "xy", stepJudgments: [], verdict: null };
  const plain = { solution: "ab", critiques: [critique] };
  assert.equal(trainedText(plain), null);
  const own = trainedText({ ...plain, tokens: recordOf(["a", "b"]) });
  assert.deepEqual([own?.of, own?.text, own?.ends], ["solution", "ab", [1, 2]]);
  assert.equal(own?.isLeftOut, false);
  const leftOut = trainedText({ ...plain, tokens: { ...recordOf(["ab"]), isLeftOut: true } });
  assert.equal(leftOut?.isLeftOut, true);
  const ofCritique = { ...plain, critiques: [{ ...critique, tokens: recordOf(["xy", ""]) }] };
  const judged = trainedText(ofCritique);
  assert.deepEqual([judged?.of, judged?.text, judged?.ends], ["critique", "xy", [2, 2]]);
  const broken: Partial<SampleTokens>[] = [
    { lengths: [1] },
    { lengths: [[1, 3]] },
    { advantages: [0] },
    { logProbDifferences: [[0, 3]] },
  ];
  for (const change of broken) {
    const sample: Pick<Sample, "solution" | "tokens" | "critiques"> = {
      ...plain,
      tokens: { ...recordOf(["a", "b"]), ...change },
    };
    assert.equal(trainedText(sample), null, JSON.stringify(change));
  }
});

Deno.test("tokens: shades go by size, and what was not measured has none", () => {
  const shades = (by: "advantage" | "difference", values: readonly number[]) =>
    values.map((value) => shadeOf(by, value));
  assert.deepEqual(shades("advantage", [0, 0.1, 0.5, 0.6, 1.5, 9]), [
    ...["", "raised-1", "raised-1", "raised-2", "raised-3", "raised-4"],
  ]);
  assert.deepEqual(shades("advantage", [-0.1, -1, -1.01, -2.5]), [
    ...["lowered-1", "lowered-2", "lowered-3", "lowered-4"],
  ]);
  assert.deepEqual(shades("difference", [0, 1e-7, -0.002, 0.05, -3]), [
    ...["", "apart-1", "apart-2", "apart-3", "apart-4"],
  ]);
  const { logProbDifferences: _, ...unmeasured } = recordOf(["a"]);
  const trained = trainedText({ solution: "a", tokens: unmeasured, critiques: [] });
  assert(trained);
  assert.equal(numbersOf(trained, "difference"), null);
  assert.equal(describeToken(trained, 0), "advantage 0, difference not measured");
  const measured = { ...trained, advantages: [-0.7071], differences: [1.5e-7] };
  assert.equal(describeToken(measured, 0), "advantage −0.7071, training − sampling +1.5e-7");
});

Deno.test("tokens: the legend has every shade once, from the smallest number to the largest", () => {
  assert.deepEqual(scaleOf("advantage").map(({ shade, range }) => `${shade} ${range}`), [
    ...["lowered-4 below −2", "lowered-3 to −2", "lowered-2 to −1", "lowered-1 to −0.5", " 0"],
    ...["raised-1 to 0.5", "raised-2 to 1", "raised-3 to 2", "raised-4 over 2"],
  ]);
  assert.deepEqual(scaleOf("difference").map(({ shade, range }) => `${shade} ${range}`), [
    ...[" 0", "apart-1 to 0.001", "apart-2 to 0.01", "apart-3 to 0.1", "apart-4 over 0.1"],
  ]);
});

const styles = (name: string) =>
  Deno.readTextFileSync(new URL(`../../../src/server/page/styles/${name}`, import.meta.url));

/** Relative luminance of "#rrggbb" (WCAG 2.2). */
function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const share = parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [dark, light] = [luminance(a), luminance(b)].toSorted((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

Deno.test("tokens: text is read on every shade (WCAG AA), and neighbours are told apart", () => {
  const pair = /--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g;
  const colours = new Map(
    [...(styles("base.css") + styles("tokens.css")).matchAll(pair)]
      .map(([, name, light, dark]) => [name, [light, dark]]),
  );
  const ink = colours.get("ink");
  assert(ink);
  for (const tone of ["raised", "lowered", "apart"]) {
    const shades = [1, 2, 3, 4].map((level) => colours.get(`${tone}-${level}`) ?? []);
    for (const scheme of [0, 1]) {
      for (const [i, shade] of shades.entries()) {
        const found = contrast(shade[scheme], ink[scheme]);
        assert(found >= 4.5, `${tone}-${i + 1} ${shade[scheme]}: ${found}`);
        if (i === 0) continue;
        const step = contrast(shade[scheme], shades[i - 1][scheme]);
        assert(step > 1.15, `${tone}-${i} to ${i + 1} ${shade[scheme]}: ${step}`);
      }
    }
  }
});
