import { countOf, isWord, type Json, listOf, objectOf } from '../../../model/json.ts'
import { MAKING_MS, jsonOf } from '../../answers.ts'
import { MediaFault, type MediaUnits, type MediaWire } from '../../adapter.ts'
import type { RequestBody } from '../../request-body.ts'
import { nameSegment } from '../named-path.ts'
import { shorten } from '#core/text/shorten.ts'

/** Finish reasons of filtered answers: `@google/genai` 3.1.0, types. */
const HELD_BACK = /SAFETY|PROHIBITED|BLOCKLIST|SPII|RECITATION/

export interface InlineData {
  type: string
  base64: string
}

export interface Content {
  held: InlineData[]
  units: MediaUnits
}

export async function generateContent(
  wire: MediaWire,
  model: string,
  body: RequestBody,
  mostBytes: number,
): Promise<Content> {
  const path = `/models/${nameSegment('model', model)}:generateContent`
  const answer = await jsonOf(await wire.ask({ method: 'POST', path, ...body, mostBytes, withinMs: MAKING_MS }))
  const candidates = listOf(answer['candidates']).map(objectOf)
  const parts = candidates.flatMap(({ content }) => listOf(objectOf(content)['parts']).map(objectOf))
  // Thoughts may contain drafts.
  const media = parts
    .filter(({ thought: isThought }) => isThought !== true)
    .flatMap(({ inlineData, inline_data: other }) => heldIn(objectOf(inlineData ?? other)))
  if (media.length === 0) throw whyNothing(answer, candidates, parts)
  return { held: media, units: unitsOf(objectOf(answer['usageMetadata'])) }
}

function heldIn({ mimeType, mime_type: other, data }: Json): InlineData[] {
  const type = mimeType ?? other
  return isWord(data) ? [{ type: isWord(type) ? type : '', base64: data }] : []
}

function whyNothing(answer: Json, candidates: readonly Json[], parts: readonly Json[]): MediaFault {
  const { blockReason, blockReasonMessage } = objectOf(answer['promptFeedback'])
  const reason = [blockReason, ...candidates.map(({ finishReason }) => finishReason)].find(isWord) ?? ''
  const words = [
    blockReasonMessage,
    ...candidates.map(({ finishMessage }) => finishMessage),
    ...parts.map(({ text }) => text),
  ].find(isWord)
  if (isWord(blockReason) || HELD_BACK.test(reason))
    return new MediaFault('refused_content', words ?? `The provider’s filter blocked the result (${reason}).`, {
      sent: false,
    })
  return new MediaFault(
    'bad_answer',
    `The provider generated nothing${words === undefined ? '' : `: ${shorten(words, 500)}`}.`,
  )
}

function unitsOf(usage: Json): MediaUnits {
  const units: MediaUnits = {
    inputTokens: countOf(usage['promptTokenCount']),
    outputTokens: countOf(usage['candidatesTokenCount']) + countOf(usage['thoughtsTokenCount']),
  }
  if (units.inputTokens === 0 && units.outputTokens === 0) return {}
  const cachedTokens = countOf(usage['cachedContentTokenCount'])
  if (cachedTokens > 0) units.cachedInputTokens = cachedTokens
  const promptTokens = byModality(usage['promptTokensDetails'])
  const outputTokens = byModality(usage['candidatesTokensDetails'])
  if (promptTokens.has('IMAGE')) units.inputImageTokens = promptTokens.get('IMAGE')!
  if (promptTokens.has('AUDIO')) units.inputAudioTokens = promptTokens.get('AUDIO')!
  if (outputTokens.has('IMAGE')) units.outputImageTokens = outputTokens.get('IMAGE')!
  if (outputTokens.has('AUDIO')) units.outputAudioTokens = outputTokens.get('AUDIO')!
  return units
}

const byModality = (details: unknown): Map<unknown, number> =>
  new Map(listOf(details).map((row) => [objectOf(row)['modality'], countOf(objectOf(row)['tokenCount'])]))
