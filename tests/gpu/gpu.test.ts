import assert from "node:assert/strict";
import type { Tensor } from "../../src/gpu/tensor.ts";
import { Gpu } from "../../src/gpu/gpu.ts";
import { DeviceLost, OutOfMemory } from "../../src/gpu/gpu_failure.ts";
import { UserError } from "../../src/base/user_error.ts";
import { onEveryGpu } from "../kernels/harness.ts";

/** y[i] = x[i] * factor + i */
const affine = {
  label: "affine",
  code: `
struct Params {
  count: u32,
  factor: f32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
) {
  let i = (group.y * groups.x + group.x) * 64u + local;
  if (i < params.count) { y[i] = x[i] * params.factor + f32(i); }
}`,
};

function runAffine(gpu: Gpu, x: Tensor, y: Tensor, factor: number): void {
  gpu.dispatch(affine, { count: x.size, factor }, { x, y }, gpu.grid(Math.ceil(x.size / 64)));
}

onEveryGpu("tensors of every type come back as written, odd lengths too", async (gpu) => {
  const data = [
    Float32Array.of(1.5, -0, 3),
    Uint32Array.of(0, 0xffffffff, 7),
    Int32Array.of(-1, 2, -3),
    Uint16Array.of(0x3c00, 0x4000, 0x4200),
  ];
  const tensors = data.map((array) => gpu.from(array, [3]));
  assert.deepEqual(tensors.map(({ dtype }) => dtype), ["f32", "u32", "i32", "f16"]);
  assert.deepEqual(await gpu.readAll(tensors), data);
  assert.deepEqual(await gpu.read(tensors[3]), data[3]);
  gpu.release(...tensors);
});

onEveryGpu("wrong host data, views and reshapes are refused", async (gpu) => {
  const x = gpu.zeros([4, 64], "f32", "x");
  assert.throws(
    () => gpu.write(x, new Float32Array(255)),
    /write to x: 255 elements into \[4,64\]/,
  );
  const empty = gpu.tensor([0], "f32", "nothing");
  assert.throws(() => gpu.write(empty, new Float32Array()), /write to nothing: it has no elements/);
  gpu.release(empty);
  assert.throws(() => x.view(64, [4, 64]), /view of x/);
  assert.throws(() => x.reshape(4, 63), /reshape of x/);
  const row = x.view(64, [64], "row");
  gpu.write(row, new Float32Array(64).fill(2));
  const whole = await gpu.readFloats(x);
  assert.deepEqual([whole[63], whole[64], whole[127], whole[128]], [0, 2, 2, 0]);
  gpu.release(x);
});

onEveryGpu("a scope frees what was made in it, save its result", async (gpu) => {
  const before = gpu.pool.liveBytes;
  const kept = gpu.scope(() => {
    gpu.tensor([1000], "f32", "scratch");
    const inner = gpu.scope(() => gpu.from(Float32Array.of(4), [1]), (tensor) => [tensor]);
    gpu.release(gpu.tensor([10], "f32", "released by hand"));
    return inner;
  }, (tensor) => [tensor]);
  assert.equal(gpu.pool.liveBytes - before, kept.storage.bytes);
  assert.deepEqual(await gpu.readFloats(kept), Float32Array.of(4));
  gpu.release(kept);
  assert.equal(gpu.pool.liveBytes, before);
  assert.throws(() => gpu.release(kept), /released twice/);

  assert.throws(() =>
    gpu.scope(() => {
      gpu.tensor([1000], "f32", "scratch");
      throw new Error("in between");
    }), /in between/);
  assert.throws(() => gpu.scope(() => Promise.resolve(0)), /asynchronous/);
  assert.equal(gpu.pool.liveBytes, before);
});

onEveryGpu("released memory is used again, and trim gives the idle part back", (gpu) => {
  const first = gpu.tensor([12345], "f32", "first");
  gpu.release(first);
  const second = gpu.tensor([12340], "f32", "second");
  assert.equal(second.storage.id, first.storage.id);
  gpu.release(second);
  gpu.pool.trim();
  assert.equal(gpu.pool.reservedBytes, gpu.pool.liveBytes);
  return Promise.resolve();
});

onEveryGpu("a bind group of a destroyed buffer is not used again", async (gpu) => {
  for (let round = 1; round <= 3; round++) {
    const [x, y] = [gpu.from(Float32Array.of(round), [1]), gpu.tensor([1])];
    runAffine(gpu, x, y, 10);
    assert.deepEqual(await gpu.readFloats(y), Float32Array.of(10 * round));
    gpu.release(x, y);
    gpu.pool.trim();
  }
});

onEveryGpu("host writes wait for the work recorded before them", async (gpu) => {
  const x = gpu.from(Float32Array.of(1, 1), [2]);
  const [early, late, copy] = [gpu.tensor([2]), gpu.tensor([2]), gpu.tensor([2])];
  runAffine(gpu, x, early, 3);
  gpu.copy(x, copy);
  gpu.write(x, Float32Array.of(5, 5));
  runAffine(gpu, x, late, 3);
  gpu.clear(x);
  assert.deepEqual(await gpu.readAll([early, copy, late, x]), [
    Float32Array.of(3, 4),
    Float32Array.of(1, 1),
    Float32Array.of(15, 16),
    Float32Array.of(0, 0),
  ]);
  gpu.release(x, early, late, copy);
});

onEveryGpu("each of very many launches sees its own parameters", async (gpu) => {
  // More than one submit's worth (1024), so that the arena of parameters is filled again.
  const count = 1500;
  let [x, y] = [gpu.zeros([1]), gpu.tensor([1])];
  let expected = 0;
  const add = {
    ...affine,
    label: "add",
    code: affine.code.replace("* params.factor", "+ params.factor"),
  };
  for (let i = 0; i < count; i++) {
    gpu.dispatch(add, { count: 1, factor: i }, { x, y }, [1]);
    expected += i;
    [x, y] = [y, x];
  }
  assert.deepEqual(await gpu.readFloats(x), Float32Array.of(expected));
  gpu.release(x, y);
});

onEveryGpu("long grids fold into two dimensions", async (gpu) => {
  const count = 64 * 65535 + 100;
  const [x, y] = [gpu.zeros([count]), gpu.tensor([count])];
  runAffine(gpu, x, y, 1);
  const result = await gpu.readFloats(y);
  assert.deepEqual([result[0], result[64 * 65535], result[count - 1]], [0, 64 * 65535, count - 1]);
  assert.throws(
    () => gpu.dispatch(affine, { count, factor: 1 }, { x, y }, [65536]),
    /affine: a grid/,
  );
  gpu.release(x, y);
  gpu.pool.trim();
});

onEveryGpu("an empty grid launches nothing", async (gpu) => {
  const [x, y] = [gpu.zeros([1]), gpu.from(Float32Array.of(7), [1])];
  gpu.dispatch(affine, { count: 0, factor: 1 }, { x, y }, [0]);
  assert.deepEqual(await gpu.readFloats(y), Float32Array.of(7));
  gpu.release(x, y);
});

onEveryGpu("missing and unknown arguments are named", (gpu) => {
  const [x, y] = [gpu.zeros([1]), gpu.zeros([1])];
  const run = (parameters: Record<string, number>, tensors: Record<string, Tensor>) => () =>
    gpu.dispatch(affine, parameters, tensors, [1]);
  assert.throws(run({ count: 1 }, { x, y }), /affine: parameter factor is missing/);
  assert.throws(
    run({ count: 1, factor: 1, extra: 1 }, { x, y }),
    /affine: parameters are count, factor/,
  );
  assert.throws(run({ count: 1, factor: 1 }, { x }), /affine: tensor y is missing/);
  assert.throws(run({ count: 1, factor: 1 }, { x, y: x }), /affine: x and y are the same memory/);
  const z = gpu.zeros([1]);
  assert.throws(run({ count: 1, factor: 1 }, { x, y: z, z }), /affine has no binding z/);
  gpu.release(x, y, z);
  return Promise.resolve();
});

/** Runs a kernel with a fault and checks that the next read reports it, and only that one. */
async function reportsOnce(gpu: Gpu, source: { label: string; code: string }, expected: RegExp) {
  const x = gpu.zeros([256]);
  gpu.dispatch(source, {}, { x }, [1]);
  await assert.rejects(gpu.read(x), expected);
  gpu.write(x, new Float32Array(256).fill(3));
  assert.equal((await gpu.readFloats(x))[255], 3);
  gpu.release(x);
}

onEveryGpu("a text that does not compile is an exception with its label", async (gpu) => {
  const code = `@group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(1) fn main() { let wrong: u32 = 1.5; x[0] = f32(wrong); }`;
  const source = { label: "ill-typed kernel", code };
  // The compiler's own words are in the message too: they name the literal's type on both engines.
  await reportsOnce(gpu, source, /ill-typed kernel does not compile[\s\S]*abstract-?float/i);
});

onEveryGpu("a view that cannot be bound is an exception with the kernel's label", async (gpu) => {
  const [x, y] = [gpu.zeros([64]), gpu.zeros([4])];
  gpu.dispatch(affine, { count: 4, factor: 1 }, { x: x.view(1, [4]), y }, [1]);
  await assert.rejects(gpu.read(y), /affine: [\s\S]*align/i);
  gpu.release(x, y);
});

onEveryGpu("an error found while encoding names the kernels it may be in", async (gpu) => {
  const code = `@group(0) @binding(0) var<storage, read_write> x: array<f32, 100000>;
    @compute @workgroup_size(1) fn main() { x[0] = 1.0; }`;
  await reportsOnce(
    gpu,
    { label: "too small a buffer", code },
    /GPU error: [\s\S]*too small a buffer/,
  );
});

onEveryGpu("a failed submit is reported by the read that follows", async (gpu) => {
  const [x, y] = [gpu.zeros([64]), gpu.zeros([64])];
  runAffine(gpu, x, y, 1);
  x.storage.buffer.destroy();
  gpu.submit();
  await assert.rejects(gpu.read(y), /GPU error: [\s\S]*destroyed/);
  gpu.release(x, y);
  gpu.pool.trim();
});

onEveryGpu("kernels are compiled once, whatever their label", async (gpu) => {
  const rehearsal = gpu.rehearsal();
  const compiled: (string | undefined)[] = [];
  const { device } = rehearsal;
  const create = device.createComputePipeline;
  device.createComputePipeline = (descriptor) => {
    compiled.push(descriptor.label);
    return create.call(device, descriptor);
  };
  const [x, y] = [rehearsal.zeros([64]), rehearsal.tensor([64])];
  runAffine(rehearsal, x, y, 1);
  for (const source of [{ label: "again" }, { label: "other", defines: { OTHER: 1 } }]) {
    rehearsal.dispatch({ ...affine, ...source }, { count: 64, factor: 2 }, { x, y }, [1]);
  }
  await rehearsal.read(y);
  assert.deepEqual(compiled, ["affine", "other"]);
});

onEveryGpu("what was rehearsed is compiled before it is launched, on Dawn", async ({ info }) => {
  const gpu = await Gpu.open(info.engine);
  const rehearsal = gpu.rehearsal();
  const [a, b] = [rehearsal.zeros([64]), rehearsal.tensor([64])];
  runAffine(rehearsal, a, b, 1);
  await gpu.compileRehearsed();
  const [ahead] = gpu.kernels;
  assert.equal(ahead?.label, info.engine === "dawn" ? "affine" : undefined);
  const [x, y] = [gpu.from(new Float32Array(64).fill(3), [64]), gpu.tensor([64])];
  runAffine(gpu, x, y, 2);
  assert.equal((await gpu.readFloats(y))[5], 11);
  await gpu.compileRehearsed();
  assert.equal(gpu.kernels.length, 1);
  if (ahead) assert.equal(gpu.kernels[0], ahead);

  const broken = { label: "broken", code: affine.code.replace("f32(i)", "f33(i)") };
  rehearsal.dispatch(broken, { count: 64, factor: 2 }, { x: a, y: b }, [1]);
  if (info.engine === "dawn") {
    await assert.rejects(gpu.compileRehearsed(), /kernel broken does not compile: [\s\S]*f33/);
  }
  gpu.close();
});

onEveryGpu("more memory than one binding holds is a user error", (gpu) => {
  const elements = gpu.device.limits.maxStorageBufferBindingSize / 4 + 1;
  assert.throws(() => gpu.tensor([elements], "f32", "logits"), (error: Error) => {
    assert.ok(error instanceof UserError);
    assert.match(error.message, /logits needs \d+ bytes in one GPU buffer/);
    return true;
  });
  return Promise.resolve();
});

onEveryGpu("a lost device is reported by every later read", async ({ info }) => {
  const gpu = await Gpu.open(info.engine);
  const [x, y] = [gpu.zeros([64]), gpu.zeros([64])];
  gpu.dispatch({ ...affine, label: "before" }, { count: 64, factor: 1 }, { x, y }, [1]);
  await gpu.read(x);
  for (const label of ["this one", "or that"]) {
    gpu.dispatch({ ...affine, label }, { count: 64, factor: 1 }, { x, y }, [1]);
  }
  gpu.device.destroy();
  const named = /The GPU was lost \(.*launched since the last read: this one, or that\)/;
  for (let i = 0; i < 2; i++) {
    await assert.rejects(gpu.read(x), (error: Error) => {
      assert.ok(error instanceof DeviceLost);
      assert.match(error.message, named);
      return true;
    });
  }
  gpu.close();
});

onEveryGpu("memory that the driver does not give is a failure of its own", async ({ info }) => {
  // The native engine's software driver promises any amount.
  if (info.engine === "native" && info.software) return;
  const gpu = await Gpu.open(info.engine);
  const [x, y] = [gpu.zeros([64]), gpu.zeros([64])];
  const size = gpu.device.limits.maxBufferSize;
  const buffers = Array.from(
    { length: 64 },
    () => gpu.device.createBuffer({ label: "much", size, usage: GPUBufferUsage.STORAGE }),
  );
  runAffine(gpu, x, y, 1);
  await assert.rejects(gpu.read(y), (error: Error) => {
    assert.ok(error instanceof OutOfMemory);
    assert.match(error.message, /no memory left[\s\S]*launched since the last read: affine/);
    return true;
  });
  for (const buffer of buffers) buffer.destroy();
  gpu.close();
});

onEveryGpu("a GPU can be closed and opened again", async ({ info }) => {
  for (let round = 0; round < 3; round++) {
    const gpu = await Gpu.open(info.engine);
    const x = gpu.from(Float32Array.of(round), [1]);
    assert.deepEqual(await gpu.readFloats(x), Float32Array.of(round));
    gpu.release(x);
    gpu.close();
  }
});
