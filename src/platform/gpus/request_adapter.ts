import { UserError } from "../../base/user_error.ts";
import { withoutDawnNotices } from "./dawn_notices.ts";
import { paceDawnPolling } from "./dawn_polling.ts";

/** Which WebGPU implementation runs the kernels: Deno's own (wgpu) or Dawn (the npm package). */
export type EngineName = "native" | "dawn";

const dawnFeatures =
  "allow_unsafe_apis,vulkan_enable_f16_on_nvidia,disable_robustness,disable_workgroup_init";

/**
 * The fastest adapter of an engine, or, where the platform was told so, the one that is left to be found.
 *
 * @returns null where there is none
 * @throws UserError when the engine cannot be loaded
 */
export async function requestAdapter(engine: EngineName): Promise<GPUAdapter | null> {
  const options: GPURequestAdapterOptions = { powerPreference: "high-performance" };
  if (engine === "native") {
    // Without a Vulkan driver Deno would fall back to OpenGL, on which nothing here was tested.
    if (Deno.build.os === "linux" && !Deno.env.has("DENO_WEBGPU_BACKEND")) {
      Deno.env.set("DENO_WEBGPU_BACKEND", "vulkan");
    }
    return await navigator.gpu?.requestAdapter(options) ?? null;
  }
  let dawn: typeof import("webgpu");
  try {
    dawn = await import("webgpu");
  } catch (cause) {
    throw new UserError(
      `The Dawn engine could not be loaded: ${cause instanceof Error ? cause.message : cause}. ` +
        `Run \`deno install\`, or use --gpu native.`,
    );
  }
  paceDawnPolling();
  const backend = Deno.build.os === "darwin"
    ? "metal"
    : Deno.build.os === "windows"
    ? "d3d12"
    : "vulkan";
  const gpu = dawn.create([
    `backend=${backend}`,
    `enable-dawn-features=${dawnFeatures}`,
    // Rounded to 65 µs, the times of kernels would say nothing.
    "disable-dawn-features=timestamp_quantization",
  ]) as unknown as GPU;
  heldDawnInstances.push(gpu);
  // Dawn looks for adapters, and prints, before it returns the promise.
  return await withoutDawnNotices(() => gpu.requestAdapter(options));
}

/** A Dawn instance that is collected takes its devices with it. */
const heldDawnInstances: GPU[] = [];
