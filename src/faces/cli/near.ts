/** The known words that are nearest to a mistyped one, by shared pairs of letters, whatever their case. */
export function nearWords(word: string, known: readonly string[]): string[] {
  const pairs = (text: string): Set<string> =>
    new Set(Array.from({ length: text.length + 1 }, (_, i) => ` ${text} `.slice(i, i + 2).toLowerCase()))
  const given = pairs(word)
  const scored = known.map((one) => {
    const other = pairs(one)
    return { one, score: (2 * [...given].filter((pair) => other.has(pair)).length) / (given.size + other.size) }
  })
  return scored
    .filter(({ score }) => score > 0.4)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, 3)
    .map(({ one }) => one)
}
