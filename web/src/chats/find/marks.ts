/** Marks words where they stand, without changing what is drawn (CSS Custom Highlight API). */
const NAME = 'found'

/** Every place in `box` that has these words, as far as it is drawn. Words that go over several elements are not marked. */
function rangesIn(box: Element, words: string): Range[] {
  const wanted = words.trim().toLowerCase()
  const ranges: Range[] = []
  if (wanted === '') return ranges
  const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const { currentNode: node } = texts
    const text = (node.nodeValue ?? '').toLowerCase()
    // A letter whose small form is longer would shift what follows.
    if (text.length !== (node.nodeValue ?? '').length) continue
    for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range()
      range.setStart(node, at)
      range.setEnd(node, at + wanted.length)
      ranges.push(range)
    }
  }
  return ranges
}

/** Marks the words and keeps them marked while rows come and go; returns what ends that. */
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

/** Brings the first of them in a row into view: a long answer may have it far from its middle. */
export function showFirst(row: Element | null, words: string): void {
  const place = row && rangesIn(row, words)[0]?.startContainer.parentElement
  place?.scrollIntoView({ block: 'center' })
}
