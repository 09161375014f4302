const entities: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  reg: '®',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  times: '×',
  middot: '·',
  bull: '•',
  rarr: '→',
  larr: '←',
  laquo: '«',
  raquo: '»',
}

/** Decodes character references (CommonMark 6.2); rare named ones stay unchanged. */
export const decode = (text: string): string =>
  text.includes('&')
    ? text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (all, decimal, hex, name: string) => {
        if (name !== undefined) return entities[name] ?? all
        const point = decimal !== undefined ? Number(decimal) : parseInt(hex as string, 16)
        return point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff)
          ? String.fromCodePoint(point)
          : '\ufffd'
      })
    : text
