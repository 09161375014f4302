/** Returns the start of a text, up to `most` UTF-16 units, without splitting a character from its accents. */
export function excerptOf(text: string, most: number): string {
  if (text.length <= most) return text
  let end = 0
  for (const { index, segment } of new Intl.Segmenter('en').segment(text.slice(0, 2 * most))) {
    if (index + segment.length > most) break
    end = index + segment.length
  }
  return text.slice(0, end)
}
