/** `1.23 GB`, `45.6 MB` below a tenth of one, `14 kB` below a tenth of an MB. */
export function formatBytes(bytes: number): string {
  if (bytes >= 1e8) return `${(bytes / 1e9).toFixed(2)} GB`;
  return bytes >= 1e5 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.ceil(bytes / 1e3)} kB`;
}
