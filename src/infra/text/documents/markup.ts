import { Unreadable } from './document.ts'

/** Markup limits of a document: libraries need time and memory per element, and more per level. */
export interface Bounds {
  elements: number
  attributes: number
  attributesOfOne: number
  depth: number
  /** Nested tables double the time per level. */
  tables: number
}

export interface TagCounts {
  elements: number
  attributes: number
}

/** Elements without an end tag or with an optional one (HTML, 13.1.2) don't count as depth. */
const unclosedTag =
  /^(area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr|p|li|dt|dd|option|optgroup|colgroup|caption|thead|tbody|tfoot|tr|td|th|rb|rt|rtc|rp|html|head|body)$/i
const table = /^([\w-]+:)?(table|tbl)$/i

/**
 * Where markup exceeds its limits, continuing earlier counts, or null. Counts each `<` with a name, even in comments
 * and values, because no parser produces more elements.
 */
export function overAt(markup: string, bounds: Bounds, counts: TagCounts, language: 'html' | 'xml'): number | null {
  let depth = 0
  let tables = 0
  let end = 0
  for (let at = markup.indexOf('<'); at >= 0; at = markup.indexOf('<', at + 1)) {
    const closes = markup.charCodeAt(at + 1) === SLASH
    const name = nameAt(markup, closes ? at + 2 : at + 1)
    if (name === '') continue
    if (!closes && ++counts.elements > bounds.elements) return at
    if (at < end) continue
    const leaf = language === 'html' && unclosedTag.test(name)
    if (closes) {
      if (!leaf) depth = Math.max(0, depth - 1)
      if (table.test(name)) tables = Math.max(0, tables - 1)
      continue
    }
    const tag = tagAt(markup, at + 1 + name.length, bounds.attributesOfOne)
    end = tag.end
    counts.attributes += tag.attributes
    if (counts.attributes > bounds.attributes || tag.attributes > bounds.attributesOfOne) return at
    if (leaf || (tag.closed && language === 'xml')) continue
    if (++depth > bounds.depth) return at
    if (table.test(name) && ++tables > bounds.tables) return at
  }
  return null
}

const [SLASH, CLOSE, EQUALS, QUOTE, APOSTROPHE] = [...'/>="\''].map((sign) => sign.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
  number,
]
const naming = /[A-Za-z_:][\w:.-]{0,80}|[\u0080-\uffff][^\s/>]{0,80}/y

function nameAt(markup: string, at: number): string {
  naming.lastIndex = at
  return naming.exec(markup)?.[0] ?? ''
}

/** A tag's attributes, counted as words, and its end. As in parsers, quotes count only after `=`. */
function tagAt(markup: string, from: number, most: number): { attributes: number; end: number; closed: boolean } {
  let attributes = 0
  let within = false
  let last = 0
  let at = from
  for (; at < markup.length && attributes <= most; at++) {
    const sign = markup.charCodeAt(at)
    if (sign === CLOSE) break
    if (last === EQUALS && (sign === QUOTE || sign === APOSTROPHE)) {
      const close = markup.indexOf(markup[at]!, at + 1)
      if (close < 0) break
      at = close
      within = false
    } else if (sign <= 32 || sign === SLASH) within = false
    else if (sign === EQUALS) within = true
    else if (!within) {
      within = true
      if (last !== EQUALS) attributes += 1
    }
    if (sign > 32) last = sign
  }
  return { attributes, end: at, closed: last === SLASH }
}

export function checkParts(parts: ReadonlyMap<string, Buffer>, bounds: Bounds): void {
  const counts: TagCounts = { elements: 0, attributes: 0 }
  for (const [name, part] of parts)
    if (/\.(xml|rels)$/i.test(name) && overAt(part.toString('latin1'), bounds, counts, 'xml') !== null)
      throw new Unreadable(
        'too_large',
        'The document has too many elements or attributes, or they are nested too deeply.',
      )
}
