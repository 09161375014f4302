/**
 * Part of `npm run check`: fails if one kind of text has more unusual phrases per 1,000 words than its limit, and lists
 * them with what to write instead. With the name of a kind, lists its phrases even below the limit.
 */
import { globSync } from 'node:fs'
import { phrases } from './phrases.ts'
import { kinds, type Text, textsOf } from './texts.ts'

const files = globSync(['*.md', '{bench,docs,packages,src,test,tools,web}/**/*.{md,ts,tsx}'], {
  exclude: (path) => path.split('/').some((name) => name === 'node_modules' || name === 'dist'),
})
const listed = process.argv[2]

for (const [name, kind] of Object.entries(kinds)) {
  const texts = textsOf(kind, files)
  const hits = texts.flatMap(hitsIn)
  const words = texts.reduce((sum, { text }) => sum + (text.match(/[A-Za-z'’]+/g)?.length ?? 0), 0)
  const share = (hits.length / words) * 1_000
  const isTooHigh = share > kind.limit
  if (isTooHigh || name === listed) console.log(hits.join('\n'))
  console.log(`${name}: ${share.toFixed(1)} phrases per 1,000 words, up to ${kind.limit} allowed`)
  if (isTooHigh) process.exitCode = 1
}

function hitsIn({ file, text }: Text): string[] {
  return phrases.flatMap(([pattern, instead]) =>
    Array.from(text.matchAll(pattern), ({ index, 0: phrase }) => {
      const around = text.slice(Math.max(0, index - 40), index + phrase.length + 40).replaceAll('\n', ' ')
      return `${file}: …${around}… (“${phrase.trim()}”: ${instead})`
    }),
  )
}
