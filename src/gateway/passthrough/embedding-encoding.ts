import { isObject, type Json, listOf, parseJson } from '../model/json.ts'
import { textOfVector, vectorOfText } from '../wire/embeddings.ts'
import type { Redraft } from './redraft.ts'

/**
 * Gives vectors the encoding that the client asked for, whatever the provider answered: numbers, or base64 of little-endian
 * 32-bit floats, which the vendor's own SDKs ask for (`encoding_format`, platform.openai.com/docs/api-reference/embeddings).
 */
export function embeddingEncoding(asked: unknown): Redraft {
  const isText = asked === 'base64'
  return {
    events: (events) => events,
    // Only an answer in the other encoding is looked at whole.
    wantsWhole: (start) => isOther(start.toString('latin1'), isText),
    whole(answer) {
      if (!isOther(answer.toString('latin1', 0, START), isText)) return answer
      const json = parseJson(answer.toString())
      if (!isObject(json)) return answer
      const data = listOf(json['data']).map((one) => (isObject(one) ? encoded(one, isText) : one))
      return Buffer.from(JSON.stringify({ ...json, data }))
    },
  }
}

/** The first vector stands near the beginning. */
const START = 65_536

function isOther(start: string, isText: boolean): boolean {
  const first = /"embedding"\s*:\s*([["])/.exec(start)?.[1]
  return first !== undefined && (first === '"') !== isText
}

function encoded(item: Json, isText: boolean): Json {
  const { embedding } = item
  if (isText)
    return Array.isArray(embedding) && embedding.every((one) => typeof one === 'number')
      ? { ...item, embedding: textOfVector(embedding) }
      : item
  return typeof embedding === 'string' ? { ...item, embedding: vectorOfText(embedding) ?? embedding } : item
}
