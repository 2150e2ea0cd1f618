/** Student's t distribution, for whole numbers of degrees of freedom. */

/**
 * P(|T| ≤ tan(θ)·√ν): the finite sums of Abramowitz & Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
 *
 * @param angle θ, from 0 to π/2
 */
function shareWithin(angle: number, freedom: number): number {
  const cosine = Math.cos(angle);
  const isOdd = freedom % 2 === 1;
  let term = isOdd ? cosine : 1;
  let sum = freedom === 1 ? 0 : term;
  for (let k = isOdd ? 3 : 2; k <= freedom - 2; k += 2) {
    term *= cosine * cosine * (k - 1) / k;
    sum += term;
  }
  const rest = Math.sin(angle) * sum;
  return isOdd ? 2 / Math.PI * (angle + rest) : rest;
}

/**
 * The t with P(|T| ≤ t) = `level`.
 *
 * @param freedom degrees of freedom ν, a whole number of at least 1
 * @throws Error for other degrees, and for a level outside (0, 1)
 */
export function studentT(level: number, freedom: number): number {
  if (!Number.isInteger(freedom) || freedom < 1 || !(level > 0 && level < 1)) {
    throw new Error(`Student's t of level ${level} with ${freedom} degrees of freedom`);
  }
  let low = 0, high = Math.PI / 2;
  for (let middle = high / 2; middle > low && middle < high; middle = (low + high) / 2) {
    if (shareWithin(middle, freedom) < level) low = middle;
    else high = middle;
  }
  return Math.tan(high) * Math.sqrt(freedom);
}
