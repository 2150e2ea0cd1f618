/** Suggests the key that was probably meant. */

/**
 * Number of single-character insertions, deletions, replacements and swaps of neighbours that turn `a`
 * into `b` (the "optimal string alignment" distance).
 */
export function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      current[j] = Math.min(previous[j] + 1, current[j - 1] + 1, replaced);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        current[j] = Math.min(current[j], beforePrevious[j - 2] + 1);
      }
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length];
}

/**
 * The valid key most like the one found: one that begins with it or that it begins with, else the one
 * the fewest edits away; null when none is at all alike (more than half of it would have to change).
 */
export function nearestKey(found: string, valid: readonly string[]): string | null {
  let best: { key: string; distance: number } | null = null;
  for (const key of valid) {
    const isPrefix = found.length >= 3 && (key.startsWith(found) || found.startsWith(key));
    const distance = isPrefix ? 1 : editDistance(found, key);
    if (distance <= Math.max(found.length, key.length) / 2 && distance < (best?.distance ?? 1e9)) {
      best = { key, distance };
    }
  }
  return best?.key ?? null;
}
