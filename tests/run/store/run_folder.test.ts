import assert from "node:assert/strict";
import { join } from "node:path";
import { parse } from "yaml";
import { exists } from "../../../src/platform/files/atomic_file.ts";
import {
  latestRunDirectory,
  nextRunDirectory,
  RunFolder,
} from "../../../src/run/store/run_folder.ts";

function withFolder(body: (folder: string) => void): void {
  const folder = Deno.makeTempDirSync();
  try {
    body(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test("run folder: made with its configuration, not overwritten, opened again", () => {
  withFolder((parent) => {
    const path = join(parent, "runs", "one");
    const run = RunFolder.create(path, { seed: 3, verifier: null });
    assert.deepEqual(parse(Deno.readTextFileSync(run.configuration)), { seed: 3, verifier: null });
    assert.ok(run.isUsed);
    assert.ok(!RunFolder.at(join(parent, "none")).isUsed);
    assert.throws(() => RunFolder.create(path, {}), {
      name: "UserError",
      message: /--resume.*--run/,
    });
    assert.equal(RunFolder.open(path).metrics, run.metrics);
    assert.throws(() => RunFolder.open(join(parent, "none")), {
      name: "UserError",
      message: /holds no run/,
    });
  });
});

Deno.test("run folder: a run that never began leaves nothing, one that did is kept", () => {
  withFolder((parent) => {
    const run = RunFolder.create(join(parent, "one"), {});
    run.discardIfUnbegun();
    assert.ok(!exists(run.path));
    const begun = RunFolder.create(join(parent, "two"), {});
    Deno.writeTextFileSync(begun.metrics, "");
    begun.discardIfUnbegun();
    assert.ok(begun.isUsed);
  });
});

Deno.test("run folder: a full disk leaves none", () => {
  withFolder((parent) => {
    const path = join(parent, "one");
    Deno.mkdirSync(path);
    Deno.symlinkSync("/dev/full", join(path, "config.yaml.tmp"));
    assert.throws(() => RunFolder.create(path, { seed: 3 }), {
      name: "UserError",
      message: /config\.yaml: the disk is full\. Make room and run the command again\./,
    });
    assert.ok(!exists(path));
  });
});

Deno.test("run folder: a file in the way is a clear error", () => {
  withFolder((parent) => {
    const path = join(parent, "file");
    Deno.writeTextFileSync(path, "");
    assert.throws(() => RunFolder.create(join(path, "run"), {}), {
      name: "UserError",
      message: /cannot be made.*--run/,
    });
  });
});

Deno.test("run folder: runs are numbered", () => {
  withFolder((parent) => {
    assert.throws(() => latestRunDirectory(parent, "train"), {
      name: "UserError",
      message: /holds no training run/,
    });
    assert.equal(nextRunDirectory(parent, "tango"), join(parent, "tango-001"));
    for (const name of ["tango-001", "tango-009", "tango-compare-020", "tango-10x"]) {
      Deno.mkdirSync(join(parent, name));
    }
    assert.equal(nextRunDirectory(parent, "tango"), join(parent, "tango-010"));
    assert.throws(
      () => latestRunDirectory(parent, "train"),
      { name: "UserError" },
      "all are empty",
    );
    for (const name of ["other-001", "other-002", "tango-compare-021", "other-generator-sft-003"]) {
      RunFolder.create(join(parent, name), {});
    }
    assert.equal(latestRunDirectory(parent, "train"), join(parent, "other-002"));
    assert.equal(latestRunDirectory(parent, "compare"), join(parent, "tango-compare-021"));
    assert.equal(latestRunDirectory(parent, "sft"), join(parent, "other-generator-sft-003"));
  });
});
