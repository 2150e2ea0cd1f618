/** Opens a GPU by its number, computes something on it and says what it holds: `held_gpu.ts ENGINE INDEX`. */

import { Gpu } from "../../../src/gpu/gpu.ts";

const [engine, index] = Deno.args;
if (engine !== "native" && engine !== "dawn") throw new Error(`${engine} is no engine`);
const gpu = await Gpu.open(engine, { index: Number(index) });
const code = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n" +
  "@compute @workgroup_size(1) fn main() { x[0] = x[0] * 2.0; }";
const x = gpu.from(Float32Array.of(21), [1]);
gpu.dispatch({ label: "twice", code }, {}, { x }, [1]);
const [value] = await gpu.readFloats(x);
console.log(`${gpu.info.index} ${gpu.info.name} ${value === 42 ? "computes" : "does not compute"}`);
Deno.exit(0);
