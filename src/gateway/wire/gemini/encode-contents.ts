import { refuse } from '#core/errors.ts'
import { shorten } from '#core/text/shorten.ts'
import type { MediaSource, CanonicalMessage, CanonicalPart } from '../../model/canonical-request.ts'
import { compact, isObject, type Json, parseJson } from '../../model/json.ts'
import { argumentsObject } from '../parts/arguments.ts'
import type { Losses } from '../shared/losses.ts'
import { fieldOf, fileText, pictureType, typeOf, typeOfUrl } from '../shared/media.ts'
import type { ToolNames } from '../shared/tools/tool-names.ts'
import { NO_SIGNATURE, type Quirks } from './quirks.ts'
import { GEMINI_FORMAT, pictureId, TEXT_ID } from '../parts/gemini-signature.ts'

export interface ContentRules {
  names: ToolNames
  quirks: Quirks
  losses: Losses
}

export interface Content {
  role: 'user' | 'model'
  parts: Json[]
}

/**
 * Leading system messages apart, adjacent messages of one role merged, empty ones left out. Later system messages
 * become part of the user's turn, in a tag.
 */
export function encodeContents(
  messages: CanonicalMessage[],
  rules: ContentRules,
): { system: Json[]; contents: Content[] } {
  const first = messages.findIndex(({ role }) => role !== 'system')
  const leading = first === -1 ? messages : messages.slice(0, first)
  const system = leading.flatMap(({ content }) => content.flatMap((part) => plainPart(part, rules)))
  const contents: Content[] = []
  const callNames = new Map<string, string>()
  for (const message of messages.slice(leading.length)) {
    const role = message.role === 'assistant' ? 'model' : 'user'
    const parts = partsOf(message, callNames, rules)
    const last = contents.at(-1)
    if (parts.length === 0) continue
    if (last?.role === role) last.parts.push(...parts)
    else contents.push({ role, parts })
  }
  // A conversation must start with the user; this one lost the message that the model answered.
  if (contents[0]?.role === 'model') contents.unshift({ role: 'user', parts: [{ text: '…' }] })
  return { system, contents }
}

function partsOf({ role, content }: CanonicalMessage, callNames: Map<string, string>, rules: ContentRules): Json[] {
  switch (role) {
    case 'assistant':
      return modelParts(content, callNames, rules)
    case 'tool':
      return resultParts(content, callNames, rules)
    case 'system':
      return content
        .flatMap((part) => plainPart(part, rules))
        .map((part) => ('text' in part ? { text: `<system>\n${String(part['text'])}\n</system>` } : part))
    case 'user':
      return content.flatMap((part) => plainPart(part, rules))
  }
}

function plainPart(part: CanonicalPart, { losses }: ContentRules): Json[] {
  if ('cache' in part && part.cache !== undefined) losses.add('cache_control')
  if (part.type === 'text') return part.text === '' ? [] : [{ text: part.text }]
  if (part.type === 'image') return [media(part.source, 'image/*', undefined)]
  if (part.type === 'file') return [fileOf(part)]
  return []
}

const READ = /^(?:(?:text|audio|video)\/|application\/pdf$)/

function fileOf({ source, name }: Extract<CanonicalPart, { type: 'file' }>): Json {
  if (source.kind === 'url' || READ.test(typeOf(source))) return media(source, 'application/pdf', name)
  const text = fileText(source)
  if (text !== null) return { text: name === undefined ? text : `${name}:\n\n${text}` }
  return refuse('unsupported_model', {
    param: fieldOf(source),
    message: `\`${fieldOf(source)}\` is ${shorten(typeOf(source), 100)}. The model accepts files as PDF, text, audio or video.`,
  })
}

/** Additional image types that Gemini accepts (ai.google.dev/gemini-api/docs/image-understanding). */
const morePictures = ['image/heic', 'image/heif']

function media(source: MediaSource, usual: string, displayName: string | undefined): Json {
  if (source.kind === 'url') return { fileData: { mimeType: typeOfUrl(source.url) ?? usual, fileUri: source.url } }
  const mimeType = usual === 'image/*' ? pictureType(source, morePictures) : typeOf(source)
  return { inlineData: compact({ mimeType, data: source.data, displayName }) }
}

function modelParts(content: CanonicalPart[], callNames: Map<string, string>, rules: ContentRules): Json[] {
  const { names, losses, quirks } = rules
  const signatures = signaturesOf(content, losses)
  const lastText = content.findLast((part) => part.type === 'text' && part.text !== '')
  let pictures = 0
  let isFirst = true
  return content.flatMap((part, index): Json[] => {
    // Thoughts return with their signature; without one the vendor doesn't want them.
    if (part.type === 'reasoning') {
      const thoughtSignature = isThought(part) ? (part.signature ?? part.redacted) : undefined
      return thoughtSignature === undefined ? [] : [{ text: part.text, thought: true, thoughtSignature }]
    }
    if (part.type === 'image') {
      const thoughtSignature = signatures.get(pictureId(pictures++)) ?? (quirks.signedCalls ? NO_SIGNATURE : undefined)
      return plainPart(part, rules).map((encodedPart) => compact({ ...encodedPart, thoughtSignature }))
    }
    if (part.type === 'text') {
      const thoughtSignature =
        signatureBehind(content, index) ?? (part === lastText ? signatures.get(TEXT_ID) : undefined)
      return plainPart(part, rules).map((words) => compact({ ...words, thoughtSignature }))
    }
    if (part.type !== 'tool_call') return plainPart(part, rules)
    if (part.cache !== undefined) losses.add('cache_control')
    const name = names.sent(part.name)
    callNames.set(part.id, name)
    const placeholder = isFirst && quirks.signedCalls && signatures.size === 0 ? NO_SIGNATURE : undefined
    isFirst = false
    const thoughtSignature = signatures.get(part.id) ?? placeholder
    return [compact({ functionCall: { id: part.id, name, args: argumentsObject(part.arguments) }, thoughtSignature })]
  })
}

const THOUGHT = 'thought'
type Reasoning = Extract<CanonicalPart, { type: 'reasoning' }>

const isThought = ({ format, id }: Reasoning): boolean => format === GEMINI_FORMAT && id === undefined

function signaturesOf(content: readonly CanonicalPart[], losses: Losses): Map<string, string> {
  const signatures = new Map<string, string>()
  for (const part of content) {
    if (part.type !== 'reasoning') continue
    const signature = part.redacted ?? part.signature
    if (signature === undefined) continue
    if (part.format === GEMINI_FORMAT) signatures.set(part.id ?? THOUGHT, signature)
    // Gemini rejects other vendors' signatures.
    else losses.add('messages.reasoning')
  }
  return signatures
}

function signatureBehind(content: readonly CanonicalPart[], index: number): string | undefined {
  const next = content[index + 1]
  return next?.type === 'reasoning' && next.format === GEMINI_FORMAT && next.id === TEXT_ID
    ? (next.redacted ?? next.signature)
    : undefined
}

/** All responses come together; content other than text follows them. */
function resultParts(content: CanonicalPart[], callNames: Map<string, string>, rules: ContentRules): Json[] {
  const after: Json[] = []
  const responses = content.flatMap((part): Json[] => {
    if (part.type !== 'tool_result') return []
    if (part.cache !== undefined) rules.losses.add('cache_control')
    const texts = part.content.flatMap((inner) => (inner.type === 'text' ? [inner.text] : []))
    const other = part.content.flatMap((inner) => (inner.type === 'text' ? [] : plainPart(inner, rules)))
    if (other.length > 0) after.push({ text: `From the result of tool call ${part.id}:` }, ...other)
    const response = responseOf(texts.join('\n'), part.is_error)
    return [{ functionResponse: { id: part.id, name: callNames.get(part.id) ?? rules.names.sent('tool'), response } }]
  })
  return [...responses, ...after]
}

/** The vendor requires an object. Names that mean something to it are sent as text, because a result is data. */
function responseOf(text: string, isError: boolean): Json {
  if (isError) return { error: text }
  const json = parseJson(text)
  return isObject(json) && !holdsSpecial(json, 1) ? json : { result: text }
}

/**
 * Names with a meaning in a response at any depth, and at its top level (ai.google.dev/api/caching, FunctionResponse).
 */
const special: ReadonlySet<string> = new Set(['$ref'])
const specialAtTop: ReadonlySet<string> = new Set(['output', 'error'])

/** Google's JSON parser accepts 100 levels, including those around the response. */
const MAX_LEVELS = 64

function holdsSpecial(value: unknown, level: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (level > MAX_LEVELS) return true
  if (Array.isArray(value)) return value.some((one) => holdsSpecial(one, level + 1))
  return Object.entries(value).some(
    ([name, one]) => special.has(name) || (level === 1 && specialAtTop.has(name)) || holdsSpecial(one, level + 1),
  )
}
