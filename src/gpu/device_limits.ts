/** The limits that decide what fits on a device, in bytes or counts. */
const LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
] as const;

/** By name. */
export type DeviceLimits = Readonly<Record<(typeof LIMITS)[number], number>>;

/** Those of a device. */
export function limitsOf({ limits }: GPUDevice): DeviceLimits {
  return Object.fromEntries(LIMITS.map((name) => [name, limits[name]])) as DeviceLimits;
}
