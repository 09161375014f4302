import { isObject, type Json, listOf, parseJson } from '../model/json.ts'
import { textOfVector, vectorOfText } from '../wire/embeddings.ts'
import type { Redraft } from './redraft.ts'

/**
 * The vendor's own SDKs request base64 of little-endian 32-bit floats (`encoding_format`,
 * platform.openai.com/docs/api-reference/embeddings); not every provider supports it.
 */
export function embeddingEncoding(encoding: unknown): Redraft {
  const isText = encoding === 'base64'
  return {
    events: (events) => events,
    wantsWhole: (start) => isOther(start.toString('latin1'), isText),
    whole(answer) {
      if (!isOther(answer.toString('latin1', 0, START), isText)) return answer
      const json = parseJson(answer.toString())
      if (!isObject(json)) return answer
      const data = listOf(json['data']).map((one) => (isObject(one) ? encode(one, isText) : one))
      return Buffer.from(JSON.stringify({ ...json, data }))
    },
  }
}

/** The first vector is near the beginning. */
const START = 65_536

function isOther(start: string, isText: boolean): boolean {
  const first = /"embedding"\s*:\s*([["])/.exec(start)?.[1]
  return first !== undefined && (first === '"') !== isText
}

function encode(item: Json, isText: boolean): Json {
  const { embedding } = item
  if (isText)
    return Array.isArray(embedding) && embedding.every((one) => typeof one === 'number')
      ? { ...item, embedding: textOfVector(embedding) }
      : item
  return typeof embedding === 'string' ? { ...item, embedding: vectorOfText(embedding) ?? embedding } : item
}
