import assert from "node:assert/strict";
import { includeParts, reflect, specialise } from "../../src/gpu/wgsl.ts";

const lines = (text: string) => text.split("\n").map((line) => line.trim()).filter(Boolean);

Deno.test("defines and expressions are substituted", () => {
  assert.equal(specialise("a$N b$(N * 2 + 1)u c$(2*(N+1))", { N: 3 }), "a3 b7u c8");
});

Deno.test("for repeats its lines, nested and with computed bounds", () => {
  const text = ["//#for i 0 N", "//#for j i 2", "x$(i)_$j", "//#endfor", "//#endfor"].join("\n");
  assert.deepEqual(lines(specialise(text, { N: 2 })), ["x0_0", "x0_1", "x1_1"]);
  assert.equal(specialise(text, { N: 0 }), "");
});

Deno.test("if keeps one branch and never evaluates the other", () => {
  const text = [
    "//#if BIAS && K > 4",
    "yes $K",
    "//#else",
    "//#if MISSING",
    "//#endif",
    "no",
    "//#endif",
  ];
  assert.deepEqual(lines(specialise(text.join("\n"), { BIAS: true, K: 8 })), ["yes 8"]);
  assert.throws(() => specialise(text.join("\n"), { BIAS: false, K: 8 }), /MISSING is not among/);
  const storage = ['//#if STORAGE == "bf16"', "half", "//#endif"].join("\n");
  assert.equal(specialise(storage, { STORAGE: "bf16" }), "half");
  assert.equal(specialise(storage, { STORAGE: "f32" }), "");
});

Deno.test("let gives names to values for its lines alone", () => {
  const text = [
    '//#let I=K+1 NAME="b"',
    "$NAME$I",
    "//#let I=I*2",
    "$I",
    "//#endlet",
    "$I",
    "//#endlet",
  ];
  assert.deepEqual(lines(specialise(text.join("\n"), { K: 2 })), ["b3", "6", "3"]);
  assert.throws(() => specialise(`${text.join("\n")}\n$I`, { K: 2 }), /I is not among/);
  assert.throws(() => specialise("//#let I\n//#endlet", {}), /expected NAME=EXPRESSION/);
  assert.throws(() => specialise("//#let I=1\n//#else\n//#endlet", {}), /else in/);
});

Deno.test("parts are included, with values of their own, and may include others", () => {
  const parts = {
    outer: "outer\n//#include inner N=2\n",
    inner: "inner $N",
    self: "//#include self",
  };
  const text = includeParts("before\n  //#include outer\nafter", parts);
  assert.deepEqual(lines(specialise(text, {})), ["before", "outer", "inner 2", "after"]);
  assert.throws(() => includeParts("//#include missing", parts), /no part missing/);
  assert.throws(() => includeParts("//#include self", parts), /self includes itself/);
});

Deno.test("malformed directives are errors", () => {
  assert.throws(() => specialise("$MISSING", {}), /MISSING is not among the defines/);
  assert.throws(() => specialise("//#for i 0 2\nx", {}), /never closed/);
  assert.throws(() => specialise("//#if true\n//#endfor", {}), /closed by \/\/#endfor/);
  assert.throws(() => specialise("//#endif", {}), /stray/);
  assert.throws(() => specialise("//#for i 0\n//#endfor", {}), /NAME FIRST LAST/);
  assert.throws(() => specialise("//#for i 0 N / 2\n//#endfor", { N: 4 }), /NAME FIRST LAST/);
  assert.throws(() => specialise("//#for i 0 2\n//#else\n//#endfor", {}), /without \/\/#else/);
  assert.throws(() => specialise("$(globalThis['x'])", {}), /cannot evaluate/);
});

Deno.test("bindings and parameters are read from the text", () => {
  const { bindings, parameters, usesF16, usesSubgroups } = reflect(`
    struct Params {
      rows: u32,      // of y
      scale: f32,
      shift: i32
    }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
    // @group(0) @binding(2) var<storage, read> gone: array<f16>; with subgroupAdd(x)
    @group(0) @binding(3) var<storage, read_write> y: array<f32>;
    var<workgroup> tile: array<f32, 4>;
  `);
  assert.deepEqual(bindings, [
    { binding: 0, name: "params", kind: "uniform" },
    { binding: 1, name: "x", kind: "read" },
    { binding: 3, name: "y", kind: "read_write" },
  ]);
  assert.deepEqual(parameters, [
    { name: "rows", type: "u32" },
    { name: "scale", type: "f32" },
    { name: "shift", type: "i32" },
  ]);
  // What a comment says asks the device for nothing.
  assert.deepEqual({ usesF16, usesSubgroups }, { usesF16: false, usesSubgroups: false });
});

Deno.test("needed language extensions are seen", () => {
  for (
    const call of ["subgroupAdd(x)", "subgroupElect()", "subgroupBroadcast(x, 1u)", "quadSwapX(x)"]
  ) {
    assert.equal(reflect(`let y = ${call};`).usesSubgroups, true, call);
  }
  assert.equal(reflect("@builtin(subgroup_invocation_id) lane: u32").usesSubgroups, true);
  assert.equal(reflect("let x = f16(1.0);").usesF16, true);
});

Deno.test("a Params field that is no 4-byte scalar is an error", () => {
  assert.throws(
    () => reflect("struct Params { size: vec4<u32>, }"),
    /Params holds "size: vec4<u32>"/,
  );
});
