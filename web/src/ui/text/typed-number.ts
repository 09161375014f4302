/** The number that was typed, or else the words as they are, which no type of an input allows: the server says what would be right. */
export const typedNumber = (words: string): number =>
  words !== '' && Number.isFinite(Number(words)) ? Number(words) : (words as unknown as number)
