import { createJsonScan, type Word } from '#packages/json-scan/json-scan.ts'
import { judgedNames } from './judged-names/judged-names.ts'
import { referenceWords } from './stored-references/find.ts'
import { mention } from './model/body.ts'
import { mediaWords } from './model/cost/weigh.ts'
import { mixedWords } from './wire/openai-chat/decode/mixed.ts'
import { reasoningWords } from './wire/openai-chat/quirks.ts'

export const scanBody = createJsonScan(
  together(
    Object.fromEntries([...judgedNames].map((name) => [name, { judged: true }])),
    referenceWords,
    mixedWords,
    reasoningWords,
    mediaWords,
    {
      developer: { value: mention.developer },
      item_reference: { value: mention.reference },
    },
  ),
)

/** Merges word lists; a word in several lists gets the bits of all. */
function together(...lists: Readonly<Record<string, Word>>[]): Record<string, Word> {
  const words: Record<string, Word> = {}
  for (const list of lists)
    for (const [text, word] of Object.entries(list)) {
      const { name = 0, value = 0, ...more } = words[text] ?? {}
      words[text] = { ...more, ...word, name: name | (word.name ?? 0), value: value | (word.value ?? 0) }
    }
  return words
}
