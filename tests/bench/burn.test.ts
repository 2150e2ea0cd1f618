import assert from "node:assert/strict";
import { join } from "node:path";
import { BurnProcess } from "../../bench/burn/burn_process.ts";
import { readFloats, writeNumbers } from "../../bench/burn/number_files.ts";
import { burnHead, burnRow } from "../../bench/burn/rate_row.ts";
import { UserError } from "../../src/base/user_error.ts";

Deno.test("a cargo that is not there, or does not build, is a user's error", async () => {
  const start = (cargo: string) => BurnProcess.start(cargo, { software: true });
  await assert.rejects(start("/nowhere/cargo"), UserError);
  await assert.rejects(start("/nowhere/cargo"), /--cargo \/nowhere\/cargo cannot be run.*rustup/);
  await assert.rejects(start("false"), /false build of bench\/peers\/burn ended with 1;.*Rust/);
});

Deno.test("rates stand beside burn's", () => {
  const rate = (ours: number, theirs: number, ratio: number) => ({
    ...{ name: "gemm_nt/7b", ours },
    peers: { burn: { rate: theirs, ratio } },
  });
  assert.match(
    burnRow(rate(40e9, 10e9, 4), "gflops"),
    /^gemm_nt\/7b +40\.0 GFLOP\/s +10\.0 GFLOP\/s +4\.0x$/,
  );
  assert.match(
    burnRow(rate(5000, 500, 10), "tokens_per_second"),
    /5000 tokens\/s +500 tokens\/s +10x$/,
  );
  assert.match(burnHead, /ours +burn's +speed$/);
});

Deno.test("numbers come back from their file", () => {
  const folder = Deno.makeTempDirSync();
  const path = join(folder, "numbers");
  writeNumbers(path, Float32Array.of(1, -2.5, 0, 4).subarray(1));
  assert.deepEqual([...readFloats(path)], [-2.5, 0, 4]);
  Deno.removeSync(folder, { recursive: true });
});
