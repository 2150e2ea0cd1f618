/** Has the browser save a file. */
export function saveFile(name: string, content: BlobPart, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  // A browser that asks where to put it needs it for a while.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
