/** Seconds as people say them: `42 s`, `4 min 05 s`, `2 h 03 min`. */
export function formatDuration(seconds: number): string {
  const whole = Math.round(seconds);
  const padded = (value: number) => String(value).padStart(2, "0");
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${padded(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${padded(Math.floor(whole / 60) % 60)} min`;
}
