/** A browser with a software GPU of its own, for tests. */

/** Arguments with which Chromium gives pages WebGPU on SwiftShader. */
export const WEBGPU = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];

/** The same GPU for Dawn: Debian's package has it beside the browser. */
export const SWIFTSHADER = "/usr/lib/chromium/vk_swiftshader_icd.json";

/** A step takes so long on a slow, busy machine, in milliseconds. */
export const PATIENCE = { timeout: 900_000 };
