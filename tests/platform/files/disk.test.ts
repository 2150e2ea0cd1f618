import assert from "node:assert/strict";
import { join } from "node:path";
import { checkRoom, describeDiskError, freeBytes } from "../../../src/platform/files/disk.ts";

const next = "continue the run with --resume";

/** The error that the system gives. */
function refusal(attempt: () => void): unknown {
  try {
    attempt();
  } catch (error) {
    return error;
  }
  throw new Error("it was possible");
}

function assertDescribed(error: unknown, bytes: number | undefined, message: RegExp): void {
  const described = describeDiskError(error, { path: "runs/x", bytes, next });
  assert.ok(described instanceof Error);
  assert.equal(described.name, "UserError");
  assert.match(described.message, message);
}

Deno.test("disk: room is checked where the folder will be", () => {
  const folder = Deno.makeTempDirSync();
  try {
    const free = freeBytes(join(folder, "not", "yet"));
    assert.ok(free !== null && free > 0);
    checkRoom({ path: join(folder, "not", "yet"), bytes: 1, next });
    assert.throws(() => checkRoom({ path: join(folder, "not"), bytes: 1e18, next }), {
      name: "UserError",
      message:
        /not: there is no room on the disk: 1000000000\.00 GB are to be written and .* are missing\. Make room and continue/,
    });
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("disk: the system's refusals become messages", () => {
  const full = refusal(() => {
    using file = Deno.openSync("/dev/full", { write: true });
    file.writeSync(new Uint8Array(10));
  });
  assertDescribed(full, undefined, /^runs\/x: the disk is full\. Make room and continue the run/);
  assertDescribed(full, 1e18, /the disk is full: 1000000000\.00 GB are to be written and .* are/);
  const inTheWay = refusal(() => Deno.mkdirSync("/dev/null/x"));
  assertDescribed(inTheWay, 1, /^runs\/x cannot be written: Not a directory.*--resume\.$/);
  // These need a disk of their own to be met; Deno tells them by their numbers alone.
  const numbered = (number: number) => new Error(`Some words (os error ${number})`);
  assertDescribed(
    numbered(27),
    1e9,
    /larger than .*ulimit -f\) allows \(1\.00 GB are to be written/,
  );
  assertDescribed(numbered(122), 1e9, /your quota on that disk is used up \(1\.00 GB/);
  assertDescribed(numbered(30), 1, /cannot be written: Some words/);
  // Node's functions say it by a code.
  const named = (code: string) => Object.assign(new Error(`${code}: some words`), { code });
  assertDescribed(named("ENOSPC"), 1, /the disk is full/);
  assertDescribed(named("EACCES"), 1, /cannot be written: EACCES/);
  const other = numbered(5);
  assert.equal(describeDiskError(other, { path: "runs/x", next }), other);
});
