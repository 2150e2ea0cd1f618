export type EngineName = "native" | "dawn";

/** The browser's adapter, the fastest where there are several; null without WebGPU. */
export async function requestAdapter(_engine: EngineName): Promise<GPUAdapter | null> {
  return await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" }) ?? null;
}
