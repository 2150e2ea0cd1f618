/** The head of each page, with the way to the others. */
export function Top({ at, device = "" }: { at: keyof typeof PAGES; device?: string }) {
  return (
    <header class="top">
      <span class="brand">
        <img src="icon.svg" alt="" width={24} height={24} />
        <span class="brand-name">tango</span>
      </span>
      <nav aria-label="Page">
        {Object.entries(PAGES).map(([page, words]) => (
          <a key={page} href={page} aria-current={page === at ? "page" : undefined}>{words}</a>
        ))}
      </nav>
      <span class="quiet">{device}</span>
    </header>
  );
}

const PAGES = {
  "index.html": "Train",
  "model.html": "Your model",
  "report.html": "This GPU",
} as const;
