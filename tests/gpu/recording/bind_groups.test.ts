import assert from "node:assert/strict";
import { BindGroups } from "../../../src/gpu/recording/bind_groups.ts";
import type { Kernel } from "../../../src/gpu/kernel.ts";
import { Tensor } from "../../../src/gpu/tensor.ts";

const kernel = {
  id: 1,
  bindings: [
    { binding: 0, name: "x", kind: "read" },
    { binding: 1, name: "y", kind: "read_write" },
  ],
  parameters: [],
  parameterBytes: 0,
} as unknown as Kernel;

const tensorOf = (id: number, size = 4, byteOffset = 0) =>
  new Tensor({ id, bytes: 4096, buffer: {} as GPUBuffer }, [size], "f32", byteOffset, `t${id}`);

function counted() {
  const made: GPUBindGroupDescriptor[] = [];
  const collections: number[] = [];
  const groups = new BindGroups({} as GPUBuffer, (_, descriptor) => {
    made.push(descriptor);
    return {} as GPUBindGroup;
  }, () => collections.push(made.length));
  return { made, groups, collections };
}

Deno.test("bind groups: batches of another size share one, another offset has its own", () => {
  const { made, groups } = counted();
  const y = tensorOf(2);
  const first = groups.get(kernel, "k", { x: tensorOf(1, 4), y });
  assert.equal(groups.get(kernel, "k", { x: tensorOf(1, 900), y }), first);
  assert.notEqual(groups.get(kernel, "k", { x: tensorOf(1, 4, 256), y }), first);
  const [, shifted] = made;
  const [{ resource }] = [...shifted.entries];
  assert.deepEqual([(resource as GPUBufferBinding).offset, (resource as GPUBufferBinding).size], [
    256,
    3840,
  ]);
});

Deno.test("bind groups: their number is bounded and the longest unused goes first", () => {
  const { made, groups } = counted();
  const x = tensorOf(1);
  const kept = { x, y: tensorOf(2) };
  groups.get(kernel, "k", kept);
  for (let id = 3; id < 10_000; id++) {
    groups.get(kernel, "k", { x, y: tensorOf(id) });
    if (id % 100 === 0) groups.get(kernel, "k", kept);
  }
  assert.ok(groups.size <= 4096);
  const before = made.length;
  groups.get(kernel, "k", kept);
  assert.equal(made.length, before, "one in use was dropped");
  groups.get(kernel, "k", { x, y: tensorOf(3) });
  assert.equal(made.length, before + 1, "one long unused was kept");
});

Deno.test("bind groups: the garbage collector is called for many that were dropped", () => {
  const { groups, collections } = counted();
  const x = tensorOf(1);
  for (let id = 2; id < 30_000; id++) groups.get(kernel, "k", { x, y: tensorOf(id) });
  assert.deepEqual(collections, [4096 + 8192, 4096 + 2 * 8192, 4096 + 3 * 8192]);
});

Deno.test("bind groups: a destroyed buffer takes its own along", () => {
  const { groups } = counted();
  groups.get(kernel, "k", { x: tensorOf(1), y: tensorOf(2) });
  groups.get(kernel, "k", { x: tensorOf(3), y: tensorOf(4) });
  groups.forgetBuffer(2);
  assert.equal(groups.size, 1);
  groups.forgetBuffer(3);
  assert.equal(groups.size, 0);
});
