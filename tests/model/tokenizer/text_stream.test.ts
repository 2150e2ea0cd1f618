import assert from "node:assert/strict";
import fc from "fast-check";
import { StopStrings } from "../../../src/engine/sampling/stop_strings.ts";
import { TextStream } from "../../../src/model/tokenizer/text_stream.ts";

/** Tokens of one or two bytes, as byte-level vocabularies have them. */
const bytes = {
  decode: (ids: ArrayLike<number>) =>
    new TextDecoder().decode(
      Uint8Array.from(Array.from(ids).flatMap((id) => id < 256 ? [id] : [id >> 8, id & 255])),
    ),
};

/** Words with a space before them, which decoding leaves off at the beginning; 0 is special, without text. */
const words = {
  decode: (ids: ArrayLike<number>) =>
    Array.from(ids).map((id) => id === 0 ? "" : ` w${id}`).join("").replace(/^ /, ""),
};

const stream = (tokenizer: typeof bytes, ids: readonly number[]) => {
  const texts = new TextStream(tokenizer);
  return [...ids.map((id) => texts.append(id)), texts.end()];
};

/** Bytes of a text in pairs or alone. */
function cut(text: string, pairs: readonly boolean[]): number[] {
  const data = new TextEncoder().encode(text);
  const ids: number[] = [];
  for (let i = 0, n = 0; i < data.length; n++) {
    const isPair = pairs[n % pairs.length] && i + 1 < data.length;
    ids.push(isPair ? data[i] * 256 + data[i + 1] : data[i]);
    i += isPair ? 2 : 1;
  }
  return ids;
}

const text = fc.array(fc.constantFrom("a", "b", "é", "€", "😀", " ", "ENDE")).map((all) =>
  all.join("")
);
const pairs = fc.array(fc.boolean(), { minLength: 1, maxLength: 9 });

Deno.test("text stream: the pieces are the text, and no character is cut", () => {
  fc.assert(fc.property(text, pairs, (whole, cuts) => {
    const pieces = stream(bytes, cut(whole, cuts));
    assert.equal(pieces.join(""), whole);
    assert.ok(pieces.every((piece) => !piece.includes("\ufffd")));
  }));
  fc.assert(fc.property(fc.array(fc.nat(9)), (ids) => {
    assert.equal(stream(words, ids).join(""), words.decode(ids));
  }));
});

Deno.test("text stream: bytes that make no character come out all the same", () => {
  const ids = [0x61, 0xff, 0xff, 0xff, 0xff, 0xff, 0x62, 0xe2];
  assert.equal(stream(bytes, ids).join(""), bytes.decode(ids));
});

Deno.test("stop strings: found at the token that completes them, however the text is cut", () => {
  let found = 0;
  const stops = fc.uniqueArray(fc.constantFrom("END", "ba", "€", "a b", "éé", "DEE"), {
    minLength: 1,
    maxLength: 3,
  });
  fc.assert(
    fc.property(text, pairs, stops, (whole, cuts, strings) => {
      const ids = cut(whole, cuts);
      const search = new StopStrings(bytes, strings);
      const place = ids.findIndex((id) => search.append(id) !== null);
      const expected = ids.findIndex((_, i) => {
        const soFar = bytes.decode(ids.slice(0, i + 1));
        return strings.some((string) => soFar.includes(string));
      });
      assert.equal(place, expected);
      if (place >= 0) found++;
    }),
    { numRuns: 400 },
  );
  assert.ok(found > 100);
  // Of two that one token completes, the one that begins first.
  const search = new StopStrings(bytes, ["b", "ab"]);
  assert.equal(search.append(0x61 * 256 + 0x62), "ab");
});
