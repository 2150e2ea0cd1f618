/** Every spelling of a unit, under its canonical name. Plurals of the spelt-out names are understood. */
const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  mm: ["millimeter", "millimetre"],
  cm: ["centimeter", "centimetre"],
  m: ["meter", "metre"],
  km: ["kilometer", "kilometre"],
  inch: ["in", "inches"],
  foot: ["ft", "feet"],
  yard: ["yd"],
  mile: ["mi"],
  mg: ["milligram"],
  g: ["gram"],
  kg: ["kilogram"],
  pound: ["lb", "lbs"],
  ounce: ["oz"],
  ton: ["tonne"],
  ml: ["mL", "milliliter", "millilitre"],
  l: ["L", "liter", "litre"],
  gallon: ["gal"],
  s: ["sec", "second"],
  minute: ["min"],
  h: ["hr", "hour"],
  day: [],
  week: [],
  month: [],
  year: ["yr"],
  dollar: ["usd", "USD"],
  cent: ["cents"],
  euro: ["EUR"],
  degree: ["deg"],
  radian: ["rad"],
  celsius: ["degree C", "degree celsius"],
  fahrenheit: ["degree F", "degree fahrenheit"],
  "mile/h": ["mph"],
  "km/h": ["kph", "kmh"],
  am: ["AM", "a.m.", "A.M."],
  pm: ["PM", "p.m.", "P.M."],
};

const CANONICAL: ReadonlyMap<string, string> = new Map(
  Object.entries(SPELLINGS).flatMap(([name, spellings]) =>
    [name, ...spellings].map((spelling) => [spelling, name] as const)
  ),
);

const POWERS: Readonly<Record<string, number>> = {
  square: 2,
  squared: 2,
  sq: 2,
  cubic: 3,
  cubed: 3,
};

/** Whether a word, as it stands after a number, names a unit. */
export function isUnitWord(word: string): boolean {
  return canonicalWord(word) !== null;
}

/**
 * Canonical form of a unit such as `cm^2`, `square centimeters`, `meters per second` or `m/s^2`; null
 * for words that name no unit of the table, such as `apples`.
 */
export function canonicalUnit(text: string): string | null {
  const spaced = text.replaceAll(/[{}]/g, "").replaceAll(
    /\bper\b|\\cdot/g,
    (found) => found === "per" ? "/" : " ",
  ).replaceAll(/\s+/g, " ").trim();
  const whole = canonicalWord(spaced);
  if (whole !== null) return whole;
  const parts = spaced.split("/").map(canonicalProduct);
  return parts.includes(null) ? null : parts.join("/");
}

function canonicalProduct(text: string): string | null {
  const whole = canonicalWord(text.trim());
  if (whole !== null) return whole;
  let power = 1;
  const factors: string[] = [];
  for (const word of text.trim().split(" ")) {
    const [, base, exponent] = /^(.*?)(?:\^(-?\d))?$/.exec(word) ?? [];
    const name = canonicalWord(base);
    if (Object.hasOwn(POWERS, word)) power = POWERS[word];
    else if (name === null) return null;
    else factors.push(exponent === undefined ? name : `${name}^${exponent}`);
  }
  if (factors.length === 0) return null;
  const product = factors.sort().join(" ");
  return power === 1 ? product : `${product}^${power}`;
}

function canonicalWord(word: string): string | null {
  for (const form of [word, word.toLowerCase(), word.toLowerCase().replace(/s$/, "")]) {
    const name = CANONICAL.get(form);
    if (name !== undefined) return name;
  }
  return null;
}
