import { refuse } from '#core/errors.ts'
import type { CanonicalMessage, CanonicalPart } from '../../../model/canonical-request.ts'
import { compact, type Json, listOf, objectOf, textOf } from '../../../model/json.ts'
import { list, missing, object, string } from '../../shared/request-fields.ts'
import { Losses } from '../../shared/losses.ts'
import { cacheOf, loseMark, withInnerMark, withOuterMark } from '../../shared/cache-marks.ts'
import { wholeResult } from './anthropic-parts.ts'
import { GEMINI_FORMAT } from '../../parts/gemini-signature.ts'
import { readCallSignature } from '../call-signature.ts'
import { readPictures } from '../media.ts'
import { contentOf } from './parts.ts'
import { isSealed, readDetails } from '../reasoning.ts'
import { Results } from './results.ts'

type Reasoning = Extract<CanonicalPart, { type: 'reasoning' }>
type Call = Extract<CanonicalPart, { type: 'tool_call' }>

/**
 * Anthropic-style results in a user message come before its other content, which moves behind all results that follow.
 */
export function decodeMessages(messages: unknown[], losses: Losses): CanonicalMessage[] {
  // The old function calls have no IDs: the n-th call and the n-th result belong together.
  let calls = 0
  let answers = 0
  const results = new Results(losses)
  const decoded = messages.flatMap((value, i): CanonicalMessage[] => {
    const at = `messages.${i}`
    const message = object(value, at) ?? missing(at)
    const role = string(message['role'], `${at}.role`) ?? missing(`${at}.role`)
    const cache = cacheOf(message)
    const name = compact({ name: string(message['name'], `${at}.name`) || undefined })
    const inner = () => contentOf(message['content'], `${at}.content`, role, losses)
    const content = () => withOuterMark(inner(), cache, losses)
    if (role === 'system' || role === 'developer' || role === 'user') {
      if ((message['content'] ?? null) === null) missing(`${at}.content`)
      return role === 'user'
        ? results.among(content(), name)
        : [...results.held(), { role: 'system', content: content(), ...name }]
    }
    if (role === 'assistant') {
      const call = object(message['function_call'], `${at}.function_call`)
      const legacy = call ? [functionCall(call, `function_${calls++}`, `${at}.function_call`)] : []
      const parts = withOuterMark([...assistantParts(message, at, inner(), losses), ...legacy], cache, losses)
      results.called(parts)
      return [...results.held(), { role, content: parts, ...name }]
    }
    if (role === 'tool' || role === 'function') {
      const id =
        role === 'function'
          ? `function_${answers++}`
          : (string(message['tool_call_id'], `${at}.tool_call_id`) ?? missing(`${at}.tool_call_id`))
      const whole = wholeResult(message)
      if (whole)
        return contentOf([whole], `${at}.content`, 'user', losses).flatMap((part) =>
          part.type === 'tool_result' ? results.told(withInnerMark({ ...part, ...(cache && { cache }) })) : [],
        )
      return results.told(withInnerMark(compact({ type: 'tool_result', id, content: inner(), is_error: false, cache })))
    }
    return refuse('invalid_parameter', {
      message: `\`${at}.role\` must be developer, system, user, assistant or tool.`,
      param: `${at}.role`,
    })
  })
  return [...decoded, ...results.held()]
}

/** Reasoning, then text, then calls: the order in which models produce them and vendors want them back. */
function assistantParts(message: Json, at: string, content: CanonicalPart[], losses: Losses): CanonicalPart[] {
  const details = readDetails(message['reasoning_details'])
  const plain =
    string(message['reasoning_content'], `${at}.reasoning_content`) || string(message['reasoning'], `${at}.reasoning`)
  const isNew = plain && !content.some((part) => part.type === 'reasoning' && part.text === plain)
  const reasoning: CanonicalPart[] =
    details.length > 0 ? newDetails(details, content) : isNew ? [{ type: 'reasoning', text: plain }] : []
  const callSignatures = listOf(message['tool_calls']).map(objectOf).flatMap(signatureOf)
  const refusal = string(message['refusal'], `${at}.refusal`)
  if (message['audio']) losses.add('messages.audio')
  const images = readPictures(message).map((source) => ({ type: 'image' as const, source }))
  if (images.length < (list(message['images'], `${at}.images`)?.length ?? 0)) losses.add('messages.images')
  const calls = (list(message['tool_calls'], `${at}.tool_calls`) ?? []).flatMap((value, i): Call[] => {
    const path = `${at}.tool_calls.${i}`
    const call = object(value, path) ?? {}
    const fn = object(call['function'], `${path}.function`)
    if (!fn) {
      loseMark(call, losses)
      loseMark(objectOf(call['custom']), losses)
      losses.add('messages.tool_calls.custom')
      return []
    }
    const result = functionCall(fn, string(call['id'], `${path}.id`) ?? missing(`${path}.id`), `${path}.function`)
    return [compact({ ...result, cache: cacheOf(call) ?? result.cache })]
  })
  // Some frameworks write a call or reasoning in both formats.
  const twins = new Map(calls.map((call) => [call.id, call]))
  const seals = new Set(details.filter(isSealed).map((part) => part.signature ?? part.redacted))
  const own = content.filter((part) => {
    if (part.type === 'reasoning') return !seals.has(part.signature ?? part.redacted)
    if (part.type !== 'tool_call') return true
    const twin = twins.get(part.id)
    if (twin !== undefined && part.cache !== undefined) twin.cache = part.cache
    return twin === undefined
  })
  return [
    ...reasoning,
    ...callSignatures,
    ...own,
    ...images,
    ...(refusal ? [{ type: 'text' as const, text: refusal }] : []),
    ...calls,
  ]
}

/** Some clients keep the signature where Google's OpenAI-compatible endpoint puts it. */
function signatureOf(call: Json): Reasoning[] {
  const signature = readCallSignature(call)
  return signature === ''
    ? []
    : [{ type: 'reasoning', text: '', redacted: signature, format: GEMINI_FORMAT, id: textOf(call['id']) }]
}

/** Drops unsigned reasoning that also appears sealed in the content, separately or joined. */
function newDetails(details: Reasoning[], content: CanonicalPart[]): Reasoning[] {
  const sealedParts = content.filter((part) => part.type === 'reasoning').filter(isSealed)
  const texts = sealedParts.map(({ text }) => text)
  const sealedTexts = new Set([...texts, texts.join('')])
  return sealedParts.length === 0 ? details : details.filter((part) => isSealed(part) || !sealedTexts.has(part.text))
}

const functionCall = (fn: Json, id: string, at: string): Call =>
  compact({
    type: 'tool_call',
    id,
    name: string(fn['name'], `${at}.name`) ?? missing(`${at}.name`),
    arguments:
      typeof fn['arguments'] === 'object'
        ? JSON.stringify(fn['arguments'] ?? {})
        : (string(fn['arguments'], `${at}.arguments`) ?? ''),
    cache: cacheOf(fn),
  })
