/** A written number, exactly. */
export interface NumberLiteral {
  readonly numerator: bigint;
  /** Positive. */
  readonly denominator: bigint;
  /** Written with a decimal point, so that it may stand for a value it only approximates. */
  readonly isDecimal: boolean;
}

const DECIMAL =
  /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+)|(?:\\times|\\cdot)10\^\{?([+-]?\d+)\}?)?$/;
const FRACTION = /^([+-]?)(?:\\frac\{([+-]?\d+)\}\{([+-]?\d+)\}|(\d+)\/(\d+))$/;

/** Largest power of ten that is written out in full. */
const MAXIMUM_EXPONENT = 400;

/**
 * Reads a cleaned integer, decimal, number in scientific notation or fraction of two integers; null
 * for anything else.
 */
export function parseNumberLiteral(latex: string): NumberLiteral | null {
  return parseFraction(latex) ?? parseDecimal(latex);
}

/**
 * Whether two numbers are the same. Two exact ones must be identical. Where one is a decimal, they may
 * differ by half a unit in the sixth decimal place, as rounding to six places leaves them, and by a
 * thousandth of their size, so that not all tiny numbers are the same.
 */
export function equalNumbers(a: NumberLiteral, b: NumberLiteral): boolean {
  const left = a.numerator * b.denominator;
  const right = b.numerator * a.denominator;
  if (left === right) return true;
  if (!a.isDecimal && !b.isDecimal) return false;
  const difference = magnitude(left - right);
  const larger = magnitude(left) > magnitude(right) ? magnitude(left) : magnitude(right);
  return difference * 2_000_000n <= a.denominator * b.denominator && difference * 1000n <= larger;
}

function parseFraction(latex: string): NumberLiteral | null {
  const match = FRACTION.exec(latex);
  if (match === null) return null;
  const top = BigInt(withoutPlus(match[2] ?? match[4]));
  const bottom = BigInt(withoutPlus(match[3] ?? match[5]));
  if (bottom === 0n) return null;
  const isNegative = (match[1] === "-") !== (bottom < 0n);
  return {
    numerator: isNegative ? -top : top,
    denominator: magnitude(bottom),
    isDecimal: false,
  };
}

function parseDecimal(latex: string): NumberLiteral | null {
  const match = DECIMAL.exec(latex);
  if (match === null) return null;
  const [, sign, whole, fraction = ""] = match;
  if (whole === "" && fraction === "") return null;
  const exponent = Number(match[4] ?? match[5] ?? 0) - fraction.length;
  if (Math.abs(exponent) > MAXIMUM_EXPONENT) return null;
  const digits = BigInt(whole + fraction) * (sign === "-" ? -1n : 1n);
  const power = 10n ** BigInt(Math.abs(exponent));
  return {
    numerator: exponent > 0 ? digits * power : digits,
    denominator: exponent < 0 ? power : 1n,
    isDecimal: match[3] !== undefined && fraction !== "",
  };
}

function withoutPlus(digits: string): string {
  return digits.startsWith("+") ? digits.slice(1) : digits;
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}
