/** Highlights matches without changing the DOM (CSS Custom Highlight API). */
const NAME = 'found'

/** The matches in the rendered text. Matches across elements aren't highlighted. */
function rangesIn(box: Element, words: string): Range[] {
  const query = words.trim().toLowerCase()
  const ranges: Range[] = []
  if (query === '') return ranges
  const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const { currentNode: node } = texts
    const text = (node.nodeValue ?? '').toLowerCase()
    // A letter whose lowercase form is longer would shift the offsets.
    if (text.length !== (node.nodeValue ?? '').length) continue
    for (let at = text.indexOf(query); at !== -1; at = text.indexOf(query, at + query.length)) {
      const range = new Range()
      range.setStart(node, at)
      range.setEnd(node, at + query.length)
      ranges.push(range)
    }
  }
  return ranges
}

/** Highlights matches and updates them as rows change. Returns a function that stops it. */
export function keepMarked(box: Element, words: string): () => void {
  if (!('highlights' in CSS)) return () => {}
  let frame = 0
  const mark = (): void => {
    frame = 0
    CSS.highlights.set(NAME, new Highlight(...rangesIn(box, words)))
  }
  const changes = new MutationObserver(() => {
    frame ||= requestAnimationFrame(mark)
  })
  changes.observe(box, { childList: true, characterData: true, subtree: true })
  mark()
  return () => {
    changes.disconnect()
    cancelAnimationFrame(frame)
    CSS.highlights.delete(NAME)
  }
}

/** Scrolls to the first match in a row, which can be far from the row's middle. */
export function showFirst(row: Element | null, words: string): void {
  const place = row && rangesIn(row, words)[0]?.startContainer.parentElement
  place?.scrollIntoView({ block: 'center' })
}
