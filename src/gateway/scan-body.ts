import { createJsonScan } from './json-scan/json-scan.ts'
import { keptWords } from './kept/find.ts'
import { mention } from './model/body.ts'
import { mixedWords } from './wire/openai-chat/decode/mixed.ts'
import { reasoningWords } from './wire/openai-chat/quirks.ts'

/** Reads a request's body, and looks out for all the words that decide what becomes of it. */
export const scanBody = createJsonScan({
  ...keptWords,
  ...mixedWords,
  ...reasoningWords,
  developer: { value: mention.developer },
  item_reference: { value: mention.reference },
})
