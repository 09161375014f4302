/** Parses a typed number. Returns invalid text unchanged, so that the server's error explains what is allowed. */
export const typedNumber = (words: string): number =>
  words !== '' && Number.isFinite(Number(words)) ? Number(words) : (words as unknown as number)
