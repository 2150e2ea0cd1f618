/** Numbers, times and sizes as people read them. */

/** A number in about four digits: 0.01235, 1234, 1.2e-7. */
export function formatNumber(value: number | null | undefined) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(1).replace("e+", "e");
  if (Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(size >= 1000 ? Math.ceil(Math.log10(size)) : 4)));
}

/** How many of something large: "135 M", "7.6 B". */
export function formatCount(count: number) {
  const units = ["", " K", " M", " B", " T"];
  const unit = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, count)) / 3));
  return `${Number((count / 1000 ** unit).toPrecision(3))}${units[unit]}`;
}

/** Seconds as "8 s", "3 min 20 s", "2 h 5 min", "3 d 4 h". */
export function shortDuration(seconds: number | null | undefined) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const units: [number, string][] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = units.findIndex(([size]) => whole >= size);
  const [[large, largeName], [small, smallName]] = units.slice(first, first + 2);
  const rest = Math.floor((whole % large) / small);
  const head = `${Math.floor(whole / large)} ${largeName}`;
  return rest === 0 ? head : `${head} ${rest} ${smallName}`;
}

/** Bytes in powers of ten, as device memory is sold: "398 MB". */
export function formatSize(bytes: number | null | undefined) {
  if (bytes === null || bytes === undefined || !Number.isFinite(bytes)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** A share from 0 to 1 as "35.4 %". */
export function formatShare(share: number | null | undefined) {
  if (share === null || share === undefined || !Number.isFinite(share)) return "–";
  return `${(share * 100).toFixed(1)} %`;
}

/** A configuration value on one line. */
export function formatValue(value: unknown) {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/**
 * A moment, in the words of the reader's own country.
 *
 * @param time ISO 8601
 */
export function formatTime(time: string) {
  return new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}
