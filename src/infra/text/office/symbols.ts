/** Characters of non-Unicode fonts: Symbol (Adobe's encoding) and common ones of Wingdings. */
const SYMBOL = ' !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧ∆ΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼'
const SYMBOL_UPPER = '€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑'
const WINGDINGS: Readonly<Record<number, string>> = {
  0x6c: '●',
  0x6e: '■',
  0x71: '❑',
  0x75: '◆',
  0x76: '❖',
  0xa7: '▪',
  0xa8: '☐',
  0xd8: '➢',
  0xe0: '→',
  0xdf: '←',
  0xe8: '➔',
  0xfb: '✗',
  0xfc: '✓',
  0xfd: '☒',
  0xfe: '☑',
  0x4a: '☺',
  0x4c: '☹',
  0x28: '☎',
  0x2a: '✉',
}

export function symbolOf(font: string, code: string): string {
  const number = parseInt(code, 16)
  if (!Number.isInteger(number) || number > 0xffff) return ''
  const byte = number >= 0xf000 ? number - 0xf000 : number
  if (/^symbol$/i.test(font) && byte < 256) return [...SYMBOL][byte - 0x20] ?? [...SYMBOL_UPPER][byte - 0xa0] ?? ''
  if (/^wingdings/i.test(font) && byte < 256) return WINGDINGS[byte] ?? '•'
  return number >= 0xe000 && number < 0xf900 ? String.fromCharCode(byte) : String.fromCharCode(number)
}
