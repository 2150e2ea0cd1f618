/** Why this browser cannot train, and what to do; null where it can. */
export async function webGpuMissing(): Promise<string | null> {
  if (!isSecureContext) {
    return "A browser gives WebGPU only to pages of https:// and of this machine itself (http://localhost). Open the " +
      "page through one of these.";
  }
  if (navigator.gpu === undefined) {
    return "This browser has no WebGPU. Newer ones of Chrome and Edge have it, Safari since 26, and Firefox on Windows " +
      "since 141.";
  }
  if (await navigator.gpu.requestAdapter().catch(() => null) !== null) return null;
  return "This browser has WebGPU, but finds no GPU that it trusts. chrome://gpu says why; a newer graphics driver, " +
    "or “Use graphics acceleration” in the browser's settings, may help.";
}
