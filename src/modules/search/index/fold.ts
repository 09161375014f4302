/**
 * Letters without accents, for index and query. Latin letters that don't decompose map to the Unicode CLDR transform
 * Latin-ASCII, or to the letter that their Unicode name starts with.
 */
const PLAIN =
  'a:ᴀᶏⱥẚ aa:ꜳ ae:æᴁ ao:ꜵ au:ꜷ av:ꜹꜻ ay:ꜽ b:ƀƃɓʙᴃᵬᶀꞗ c:ƈȼɕᴄꞓꞔ𝼝 d:ðđƌȡɖɗᴅᴆᵭᶁᶑꝱꝺꟈ db:ȸ dz:ʣʥ e:ɇɛᴇᶒᶓⱸꬴ et:ꝫ f:ƒᵮᶂꜰꝼꞙ ' +
  'g:ǥɠɡɢʛᶃꞡ h:ħɦɧʜⱨꞕ hv:ƕ i:ıɨɩɪᵻᶖ𝼚 is:ꝭ j:ȷɉɟʝᴊ k:ƙᴋᶄⱪꝁꝃꝅꞣ l:łŀƚȴɫɬɭʟᴌᶅⱡꝇꝉꝲꞎꬷꬸꬹ𝼑𝼓 ll:ỻ ls:ʪ lz:ʫ m:ɱᴍᵯᶆꝳꬺ ' +
  'n:ŉŋƞȵɲɳɴᵰᶇꝴꞑꞥꬻ o:øɵᴏⱺꝋꝍ𝼛 oe:œɶ oi:ƣ oo:ꝏ ou:ȣ p:ƥᴘᵱᵽᶈꝑꝓꝕ q:ĸɋʠꝗꝙ qp:ȹ r:ɍɼɽɾʀᵲᵳᶉꝵꝶꞧꭉ𝼖 s:ȿʂᵴᶊẜẝꜱꞩꟊ𝼞 ss:ß ' +
  't:ŧƫƭȶʈᴛᵵⱦꝷꞇ𝼉 th:þᵺꝥꝧ ts:ʦ tz:ꜩ u:ʉᴜᵾᶙꞹꭎꭒ ue:ᵫ ui:ꭐ um:ꝸ uo:ꭣ v:ʋᴠᶌỽⱱⱴꝟ vy:ꝡ w:ᴡⱳ x:ᶍꭖꭗꭘꭙ y:ƴɏʏỿꭚ z:ƶȥɀʐʑᴢᵶᶎⱬ'

const plainForms = new Map(
  PLAIN.split(' ').flatMap((group) => {
    const [ascii, letters] = group.split(':') as [string, string]
    return [...letters].map((letter) => [letter, ascii] as const)
  }),
)
// Russian uses both interchangeably; sigma has a final form.
plainForms.set('ё', 'е').set('ς', 'σ')

const isAscii = (text: string): boolean => !/[\u0080-\uffff]/.test(text)
/** Bounded by the letters of a few scripts. */
const foldCache = new Map<string, string>()

function foldLetter(letter: string): string {
  const cached = foldCache.get(letter)
  if (cached !== undefined) return cached
  const base = letter.normalize('NFKD').replace(/\p{Mn}/gu, '')
  const form = plainForms.get(letter) ?? Array.from(base, (one) => plainForms.get(one) ?? one).join('')
  const folded =
    /^([a-z0-9]+|[а-я]|\p{Script=Greek}+)$/u.test(form.toLowerCase()) && form !== 'и' ? form.toLowerCase() : letter
  if (foldCache.size < 10_000) foldCache.set(letter, folded)
  return folded
}

/** Composes letters, and converts full-width forms to ASCII. */
export const normalize = (text: string): string =>
  isAscii(text) ? text : text.normalize('NFC').replace(/[\uff01-\uffee]+/g, (wide) => wide.normalize('NFKC'))

export const lower = (text: string): string => normalize(text).toLowerCase()

/** Lowercases and removes accents from Latin and Greek letters: `Łuków` → `lukow`, `Fußball` → `fussball`. */
export function fold(text: string): string {
  const small = lower(text)
  if (isAscii(small)) return small
  return small
    .replace(/\P{ASCII}/gu, foldLetter)
    .replace(/([a-z0-9]|\p{Script=Greek})\p{Mn}+/gu, '$1')
    .replace(/(\p{Script=Cyrillic})[\u0300\u0301]+/gu, '$1')
}

/** Also maps each UTF-16 unit of the folded text to its original position. */
export function foldWithPlaces(text: string): { folded: string; placeOf: (at: number) => number } {
  if (isAscii(text)) return { folded: text.toLowerCase(), placeOf: (at) => at }
  const pieces: string[] = []
  const places: number[] = []
  let at = 0
  for (const [cluster] of text.matchAll(/[^]\p{M}*/gu)) {
    const piece = fold(cluster)
    pieces.push(piece)
    for (let unit = 0; unit < piece.length; unit++) places.push(at)
    at += cluster.length
  }
  return { folded: pieces.join(''), placeOf: (place) => places[place] ?? text.length }
}
