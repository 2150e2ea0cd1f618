import type { DeviceInfo } from "./adapter.ts";

/** The device in a few words; software drivers are called what they are. */
export function describeDevice(
  { name, index, software, engine }: Pick<DeviceInfo, "name" | "index" | "software" | "engine">,
): string {
  const number = index === undefined ? "" : `GPU ${index}, `;
  return `${number}${name}, ${software ? "software driver, " : ""}${engine} engine`;
}
