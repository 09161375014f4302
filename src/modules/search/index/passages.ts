/** Characters per passage: about 300 words, which every embedding model accepts. */
const LENGTH = 1_600
const OVERLAP = 200
const MAX_PASSAGES = 24

/** Splits a text into passages, preferably at the end of a line or sentence. Each starts with the title. */
export function passagesOf(title: string, body: string): string[] {
  const text = body.trim()
  const passages: string[] = []
  for (let at = 0; at < text.length && passages.length < MAX_PASSAGES;) {
    const hard = Math.min(text.length, at + LENGTH)
    const cut = hard === text.length ? hard : cutNear(text, at + LENGTH / 2, hard)
    passages.push(`${title}\n\n${text.slice(at, cut)}`.toWellFormed())
    at = cut >= text.length ? cut : Math.max(cut - OVERLAP, at + 1)
  }
  return passages.length === 0 ? [title] : passages
}

function cutNear(text: string, from: number, to: number): number {
  const part = text.slice(from, to)
  for (const end of ['\n\n', '\n', '. ', ' ']) {
    const at = part.lastIndexOf(end)
    if (at >= 0) return from + at + end.length
  }
  return to
}
