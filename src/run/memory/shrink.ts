/** A change of the configuration that makes a run smaller; null when it changes nothing more. */
export type Shrink<Config> = (
  config: Config,
) => { readonly config: Config; readonly set: Readonly<Record<string, string>> } | null;

/** Halves a number of the configuration down to a least value. */
export function halve<Config>(
  key: string,
  least: number,
  get: (config: Config) => number,
  put: (config: Config, value: number) => Config,
): Shrink<Config> {
  return (config) => {
    const value = Math.max(least, Math.floor(get(config) / 2));
    return value >= get(config) ? null : { config: put(config, value), set: { [key]: `${value}` } };
  };
}
