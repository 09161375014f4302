import { ALPHABETS, IDEOGRAPHS, LATIN } from './letters.ts'

/**
 * Detects the encoding of non-UTF-8 text: decodes it in each WHATWG encoding and picks the most likely text in a known
 * language. Byte-counting detectors need far more text than a short file has. Pure.
 */

/** Encodings with a prior penalty: rare ones must fit better. The first wins ties. */
const CANDIDATES: readonly [label: string, against: number][] = [
  ['windows-1252', 0],
  ['windows-1250', 0.5],
  ['windows-1251', 0.5],
  ['gb18030', 0.5],
  ['shift_jis', 0.5],
  ['big5', 0.5],
  ['euc-kr', 0.5],
  ['euc-jp', 0.5],
  ['windows-1253', 0.5],
  ['windows-1254', 0.6],
  ['windows-1255', 0.5],
  ['windows-1256', 0.5],
  ['windows-1257', 0.6],
  ['windows-1258', 1],
  ['windows-874', 0.5],
  ['koi8-r', 0.6],
  ['koi8-u', 0.7],
  ['ibm866', 1],
  ['iso-8859-2', 0.8],
  ['iso-8859-5', 1],
  ['iso-8859-7', 0.8],
  ['iso-8859-15', 0.8],
  ['iso-8859-8', 0.8],
  ['iso-8859-6', 0.8],
  ['iso-8859-13', 3],
  ['iso-8859-4', 3.2],
  ['iso-8859-10', 3.4],
  ['iso-8859-3', 3.4],
  ['iso-8859-14', 2.6],
  ['iso-8859-16', 3.4],
  ['macintosh', 3.5],
  ['x-mac-cyrillic', 3],
]
const MAX_BYTES = 1_024

const RARE = -9
const FOREIGN = -11
const IMPOSSIBLE = -25
const PUNCTUATION = -4.5
/**
 * Penalties: a capital after a lower-case letter, adjacent letters of two scripts, adjacent accents, a sign within a
 * word.
 */
const CAPITAL = -1
const CAPITAL_INSIDE = -4
const MIXED = -5
const ACCENTS_TOGETHER = -2.5
const SIGN_INSIDE = -3
const STANDS_ALONE = -3
const ODD_NEIGHBOR = -3
/** More accented letters than a third is unnatural except in Vietnamese. */
const CROWDED = -5
const MAX_ACCENTED = 0.34
const ONE_CASE = -1.5

type Profile = (letter: string) => number

/** Zipf's law: the n-th most frequent has 1/n of the first's frequency. */
function profileOf(letters: Iterable<string>, mass: number, rest: Profile): Profile {
  const ranks = new Map<string, number>()
  for (const letter of letters) if (!ranks.has(letter)) ranks.set(letter, ranks.size)
  let sum = 0
  for (let rank = 0; rank < ranks.size; rank++) sum += 1 / (rank + 3)
  const weights = new Map([...ranks].map(([letter, rank]) => [letter, Math.log(mass / (rank + 3) / sum)]))
  return (letter) => weights.get(letter) ?? rest(letter)
}

const SIGNS = new Set('“”‘’„‚–—…«»°§€£©®·•¿¡№×÷½¼¾±²³µªº´™†‡‰ ‹›¥¢\u200e\u200f\u200c\u200d')
const CJK_SIGNS = new Set('，。、；：？！“”‘’（）《》「」『』【】…—～·　・ー％－／')

interface Language {
  letters: string
  profile: Profile
}

function languageOf(letters: string): Language {
  const [common, rare = ''] = letters.split('|') as [string, string?]
  const last = profileOf(rare, 0.05, () => FOREIGN)
  return { letters: common + rare, profile: profileOf(common, rare === '' ? 1 : 0.95, last) }
}
const languages = [...LATIN, ...ALPHABETS].map(languageOf)
const [vietnamese, sami] = ['ế', 'ŧ'].map((letter) => languages.find(({ letters }) => letters.includes(letter)))
const SMALL_LANGUAGE = 2

const languagesByScript = new Map<string, Language[]>()
function languagesOf(label: string): Language[] {
  const before = languagesByScript.get(label)
  if (before !== undefined) return before
  const decoder = new TextDecoder(label)
  const signs = new Set(Array.from({ length: 128 }, (_, i) => decoder.decode(Uint8Array.of(i + 128))))
  const isKnown = (letter: string): boolean => letter < '\x80' || signs.has(letter)
  // Vietnamese writes tones after the letter.
  const has = (letter: string): boolean => {
    const [base = '', ...marks] = letter.normalize('NFD')
    return (
      signs.has(letter) ||
      marks.some(
        (mark) => signs.has(mark) && isKnown([base, ...marks.filter((one) => one !== mark)].join('').normalize('NFC')),
      )
    )
  }
  const able = languages.filter(
    ({ letters }) => [...letters].filter((letter) => !has(letter)).length < letters.length / 5,
  )
  languagesByScript.set(label, able)
  return able
}

/** Level 1 of a double-byte set: characters in common use. */
function level(label: string, leads: [number, number], from = 0xa1): ReadonlySet<string> {
  const decoder = new TextDecoder(label)
  const signs = new Set<string>()
  for (let lead = leads[0]; lead <= leads[1]; lead++)
    for (let trail = from; trail < 0xff; trail++) {
      const text = decoder.decode(Uint8Array.of(lead, trail))
      if ([...text].length === 1 && text !== '\ufffd') signs.add(text)
    }
  return signs
}

const HIRAGANA =
  'のにはをとがでしたてれるいなかもらりっうこくあすさまよそきけおどんだつえちみせじめやわろばげずごぶべびぼほひへふむゆよぎざぐづぞぽぱぺぴぷゃゅょぁぃぅぇぉ'
const KATAKANA =
  'ンースルトリラクイアタシレロドジフマプテメサコカキデバムニナチグオウエツミハワモケセヤソパビボポピベペネヒホヘノユヨッャュョァィェォヴガギゲゴザズゼゾダヅヌ'

let ideographic: Record<string, Profile> | null = null
/** Built on demand, because most files are UTF-8. */
function ideographs(): Record<string, Profile> {
  if (ideographic !== null) return ideographic
  const of = (common: string, mass: number, signs: ReadonlySet<string>, first: Profile | null = null): Profile => {
    const rest = Math.log((1 - mass) / Math.max(1, signs.size))
    const own = profileOf(common, mass, (sign) => (signs.has(sign) ? rest : CJK_SIGNS.has(sign) ? PUNCTUATION : -14))
    return first === null ? own : (sign) => Math.max(own(sign), first(sign))
  }
  const kana = profileOf(
    HIRAGANA,
    0.5,
    profileOf(KATAKANA, 0.25, () => -14),
  )
  const kanji = level('euc-jp', [0xb0, 0xcf])
  const japanese = of(IDEOGRAPHS.japanese, 0.7, kanji, kana)
  return (ideographic = {
    gb18030: of(IDEOGRAPHS.gb18030, 0.8, level('gb18030', [0xb0, 0xd7])),
    big5: of(IDEOGRAPHS.big5, 0.8, level('big5', [0xa4, 0xc6], 0x40)),
    'euc-kr': of(IDEOGRAPHS['euc-kr'], 0.85, level('euc-kr', [0xb0, 0xc8])),
    'euc-jp': japanese,
    shift_jis: japanese,
  })
}

function contextOf(before: string, letter: string, after: string): number {
  const isLatin = /\p{Script=Latin}/u.test(letter)
  let sum = 0
  if (!isLatin && (/[a-z]/i.test(before) || /[a-z]/i.test(after))) sum += MIXED
  if (/\p{Lu}/u.test(letter) && /\p{Ll}/u.test(before)) sum += CAPITAL_INSIDE
  if (isLatin && /[^\p{ASCII}\P{L}]/u.test(before)) sum += ACCENTS_TOGETHER
  if (isLatin && /\p{Lu}/u.test(letter)) sum += CAPITAL
  if (isLatin && /[\^[\]\\{}|~@`_$]/.test(before + after)) sum += ODD_NEIGHBOR
  const alone = !/[\p{L}\p{M}]/u.test(before) && !/[\p{L}\p{M}]/u.test(after)
  if (alone && !/[àáéèíóúåäöøæ]/i.test(letter)) sum += STANDS_ALONE
  if (/[þð]/i.test(letter) && /[td]/i.test(before)) sum += ODD_NEIGHBOR
  // Final forms.
  if (/[ךםןףץς]/.test(letter) && /\p{L}/u.test(after)) sum += CAPITAL_INSIDE
  if (letter === 'σ' && !/\p{L}/u.test(after)) sum += CAPITAL_INSIDE / 2
  return sum
}

function signValue(before: string, sign: string, after: string): number {
  const code = sign.codePointAt(0)!
  if (sign === '\ufffd' || (code >= 0x80 && code < 0xa0) || (code >= 0xe000 && code < 0xf900)) return IMPOSSIBLE
  if (/\p{Cn}/u.test(sign)) return IMPOSSIBLE
  const inside = /\p{L}/u.test(before) && /\p{L}/u.test(after) && sign !== '’' && sign !== '·' && sign !== '\u200c'
  return (SIGNS.has(sign) ? PUNCTUATION : RARE - 1) + (inside ? SIGN_INSIDE : 0)
}

export function likelihood(text: string, label: string): number {
  const own = ideographs()[label]
  const signs = Array.from(text.normalize('NFC'))
  const able = own === undefined ? languagesOf(label) : []
  const sums = able.map(() => 0)
  let common = 0
  let accents = 0
  let foreign = 0
  for (const [i, sign] of signs.entries()) {
    if (sign < '\x80') continue
    const before = signs[i - 1] ?? ''
    const after = signs[i + 1] ?? ''
    if (own !== undefined) {
      const code = sign.codePointAt(0)!
      if (sign === '\ufffd' || (code >= 0xe000 && code < 0xf900)) common += IMPOSSIBLE
      else common += own(sign) + (/[a-z]/i.test(before) || /[a-z]/i.test(after) ? -1 : 0)
      continue
    }
    if (SIGNS.has(sign) || !/[\p{L}\p{M}]/u.test(sign)) {
      common += signValue(before, sign, after)
      continue
    }
    common += contextOf(before, sign, after)
    foreign++
    if (/\p{Script=Latin}/u.test(sign)) accents++
    const small = sign.toLowerCase()
    for (let at = 0; at < able.length; at++) sums[at]! += able[at]!.profile(small)
  }
  if (own !== undefined) return common
  if (/[\p{Script=Cyrillic}\p{Script=Greek}]/u.test(text) && !(/\p{Lu}/u.test(text) && /\p{Ll}/u.test(text)))
    common += ONE_CASE
  const letters = (text.match(/\p{L}/gu) ?? []).length
  const crowding = Math.max(0, accents - letters * MAX_ACCENTED) * CROWDED
  return (
    common +
    Math.max(
      ...able.map((one, at) => sums[at]! + (one === vietnamese ? 0 : crowding) - (one === sami ? SMALL_LANGUAGE : 0)),
      foreign * FOREIGN,
    )
  )
}

function partOf(line: Uint8Array): Uint8Array {
  const from = Math.max(0, line.findIndex((byte) => byte >= 0x80) - 1)
  let to = Math.min(line.length, from + MAX_BYTES)
  while (to < line.length && to < from + 2 * MAX_BYTES && line[to]! >= 0x30) to++
  return line.subarray(from, to)
}

function sampleOf(bytes: Uint8Array): Uint8Array {
  const lines: Uint8Array[] = []
  let size = 0
  for (let at = 0; at < bytes.length && size < MAX_BYTES;) {
    const stop = bytes.indexOf(10, at)
    const line = bytes.subarray(at, stop < 0 ? bytes.length : stop + 1)
    at += line.length
    if (!line.some((byte) => byte >= 0x80)) continue
    const part = line.length <= MAX_BYTES ? line : partOf(line)
    lines.push(part)
    size += part.length
  }
  return Buffer.concat(lines)
}

const decoders = new Map<string, InstanceType<typeof TextDecoder>>()
function decoderOf(label: string): InstanceType<typeof TextDecoder> {
  const decoder = decoders.get(label) ?? new TextDecoder(label)
  decoders.set(label, decoder)
  return decoder
}

export function likeliest(bytes: Uint8Array): string {
  const sample = sampleOf(bytes)
  let best = { label: 'windows-1252', value: -Infinity }
  for (const [label, against] of CANDIDATES) {
    const text = decoderOf(label).decode(sample)
    const value = likelihood(text, label) - against
    if (value > best.value) best = { label, value }
  }
  return best.label
}

const MIN_ALIKE = 0.95
const MAX_DOUBTED = -8.5

/** UTF-16 without a byte order mark: text of one script or common ideographs, in either byte order. */
export function unmarkedUtf16(bytes: Uint8Array, isCut: boolean): 'utf-16le' | 'utf-16be' | null {
  if (bytes.length < 4 || (bytes.length % 2 === 1 && !isCut)) return null
  const sample = bytes.subarray(0, Math.min(bytes.length & ~1, MAX_BYTES * 2))
  let best: { label: 'utf-16le' | 'utf-16be'; value: number } | null = null
  for (const label of ['utf-16le', 'utf-16be'] as const) {
    const text = new TextDecoder(label).decode(sample).replace(/\ufffd$/, '')
    if (/[\ufffd\ufffe\uffff\p{Cn}\p{Co}]|[^\P{Cc}\t\n\f\r]/u.test(text)) continue
    const value = wholeness(text)
    if (value !== null && (best === null || value > best.value)) best = { label, value }
  }
  return best?.label ?? null
}

const SCRIPTS = ['Latin', 'Cyrillic', 'Greek', 'Hebrew', 'Arabic', 'Thai', 'Devanagari', 'Armenian', 'Georgian'].map(
  (script) => new RegExp(String.raw`[\p{Script=${script}}\x00-\x7f\p{M}]`, 'gu'),
)

function wholeness(text: string): number | null {
  const signs = Array.from(text)
  const shares = SCRIPTS.map((script) => (text.match(script) ?? []).length / signs.length)
  const share = Math.max(...shares)
  const plain = signs.filter((sign) => sign < '\u0100').length / signs.length
  if (share >= MIN_ALIKE && (share !== shares[0] || plain > 0.5)) return share
  const others = signs.filter((sign) => sign >= '\x80').length
  const value = Math.max(...['gb18030', 'big5', 'euc-kr', 'euc-jp'].map((label) => likelihood(text, label)))
  return others > 0 && value / others > MAX_DOUBTED ? 0.5 + value / others / 100 : null
}
