const MAX_ROWS = 1_000
const MAX_CELLS = 60

export interface Table {
  rows: string[][]
  isCut: boolean
}

/** Parses comma- or tab-separated values (RFC 4180), with quoted values. */
export function readCsv(text: string, separator: ',' | ';' | '\t' = separatorOf(text)): Table {
  const rows: string[][] = []
  let row: string[] = []
  let at = 0
  while (at < text.length && rows.length < MAX_ROWS) {
    let value = ''
    if (text[at] === '"') {
      for (at += 1; at < text.length;) {
        const end = text.indexOf('"', at)
        value += text.slice(at, end === -1 ? text.length : end)
        at = end === -1 ? text.length : end + 1
        if (text[at] !== '"') break
        value += '"'
        at += 1
      }
    }
    const from = at
    while (at < text.length && text[at] !== separator && text[at] !== '\n') at += 1
    value += text.slice(from, at).replace(/\r$/, '')
    if (row.length < MAX_CELLS) row.push(value)
    if (text[at] !== separator) {
      if (row.length > 1 || row[0] !== '') rows.push(row)
      row = []
    } else if (at === text.length - 1 && row.length < MAX_CELLS) row.push('')
    at += 1
  }
  if (row.length > 0 && rows.length < MAX_ROWS) rows.push(row)
  return { rows, isCut: at < text.length }
}

function separatorOf(text: string): ',' | ';' | '\t' {
  const line = text.slice(0, text.indexOf('\n') === -1 ? undefined : text.indexOf('\n'))
  const count = (sign: string): number => line.split(sign).length
  return (['\t', ';', ','] as const).reduce((most, sign) => (count(sign) > count(most) ? sign : most), ',')
}
