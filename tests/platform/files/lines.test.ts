import assert from "node:assert/strict";
import { join } from "node:path";
import { firstDifferentLine, linesOf } from "../../../src/platform/files/lines.ts";

Deno.test("lines: of a file longer than a piece, each whole; what is cut short is left out", () => {
  const folder = Deno.makeTempDirSync();
  try {
    const path = join(folder, "log");
    // A character of two bytes lies across the border of two pieces in one of them.
    const lines = Array.from({ length: 30_000 }, (_, i) => `${i} ${"ä".repeat(i % 97)}`);
    Deno.writeTextFileSync(path, `${lines.join("\n")}\ncut sho`);
    assert.ok(Deno.statSync(path).size > 2 << 20);
    assert.deepEqual([...linesOf(path)], lines);
    Deno.writeTextFileSync(path, "");
    assert.deepEqual([...linesOf(path)], []);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("lines: the first that differs, also past a piece, and where one file is longer", () => {
  const folder = Deno.makeTempDirSync();
  try {
    const [a, b] = [join(folder, "a"), join(folder, "b")];
    const compare = (one: string, other: string) => {
      Deno.writeTextFileSync(a, one);
      Deno.writeTextFileSync(b, other);
      return firstDifferentLine(a, b);
    };
    const long = "0123456789\n".repeat(200_000);
    assert.equal(compare("", ""), null);
    assert.equal(compare(long, long), null);
    assert.equal(compare(`${long}x`, `${long}y`), 200_001);
    assert.equal(compare("a\nb\n", "a\nB\n"), 2);
    assert.equal(compare("a\nb\n", "a\nb\nc\n"), 3);
    assert.equal(compare("a\nb", "a\nb\n"), 2);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
