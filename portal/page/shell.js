/** Quotes a text as one word of a shell. */
export function shellQuote(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
