/** The options of a page's command, by name. */
export function optionsOf(command: string): Map<string, string[]> {
  const words = command.replaceAll("\\\n", " ").trim().split(/\s+/);
  const options = new Map<string, string[]>();
  for (let i = 2; i + 1 < words.length; i += 2) {
    options.set(words[i], [...options.get(words[i]) ?? [], words[i + 1]]);
  }
  return options;
}
